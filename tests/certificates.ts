/**
 * Certificates for tests, made when they are needed.
 *
 * Invariant: they are in a folder of their own, which is gone at the end.
 *
 * @module
 */
import { assertEquals } from "@std/assert";

/** The files of a certificate and its key, and what they say. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes self-signed certificates. */
export class CertificateFolder implements AsyncDisposable {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<CertificateFolder> {
    return new CertificateFolder(await Deno.makeTempDir());
  }

  /** A certificate for loopback and `names`, in files of that name. */
  async make(name: string, names: string[] = []): Promise<Certificate> {
    const certFile = `${this.path}/${name}.pem`;
    const keyFile = `${this.path}/${name}.key`;
    const alternatives = ["IP:127.0.0.1", ...names.map((dns) => `DNS:${dns}`)];
    const { success, stderr } = await new Deno.Command("openssl", {
      args: [
        ...["req", "-x509", "-newkey", "ec", "-days", "1", "-nodes"],
        ...["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", `/CN=${name}`],
        ...["-addext", `subjectAltName=${alternatives.join()}`],
        ...["-addext", "basicConstraints=critical,CA:FALSE"],
        ...["-keyout", keyFile, "-out", certFile],
      ],
    }).output();
    assertEquals(success, true, new TextDecoder().decode(stderr));
    return {
      certFile,
      keyFile,
      cert: await Deno.readTextFile(certFile),
      key: await Deno.readTextFile(keyFile),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}
