/**
 * What a decompression bomb costs a gateway in a process of its own: little
 * memory and little time, whatever it would inflate to, and it is forwarded.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { inflate } from "../../src/system/inflate.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { startProgram } from "../privileges/program.ts";
import { ScriptedServer } from "../scripted_server.ts";
import { BOMB_BYTES_MAX, makeBombs } from "./bombs.ts";

/** What one bomb may cost at its worst moment. */
const COST_BYTES_MAX = 4 * 1024 * 1024;

/** Processor time of one bomb, of which most is decoding 8 MiB. */
const CPU_MS_MAX = 250;

/** Rounds, of which the first ones load code; a median needs an odd number. */
const WARM_ROUNDS = 2;
const ROUNDS = 5;

/** The kernel counts processor time in ticks of 10 ms. */
const TICK_MS = 10;

/** What has the kernel forget the peak of a process's memory. */
const FORGET_PEAK = "5";

/** Bytes of a process: now, and the most since the peak was forgotten. */
async function memoryOf(pid: number): Promise<{ now: number; peak: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const field = (name: string) =>
    1_024 * Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status)?.[1]);
  return { now: field("VmRSS"), peak: field("VmHWM") };
}

async function cpuMsOf(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // Fields 14 and 15 of the line; the name before them may hold blanks.
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    .slice(11, 13);
  return TICK_MS * (Number(user) + Number(system));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}

test("1 GiB inflated from 1 MiB costs under 4 MiB and is forwarded (C6 mlflow #24784)", async (t) => {
  let size = 0;
  await using engine = new ScriptedServer(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === "") return;
      size = request.length - request.indexOf("\r\n\r\n") - 4;
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  });
  if (engine.address.kind !== "tcp") throw new Error("Cannot be elsewhere");
  await using gateway = startProgram([
    ...["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ...["--workers", "1"],
    ...["--endpoint", `http://127.0.0.1:${engine.address.port}`],
  ]);
  const [, port] = await gateway.until("out", /listens on \S+:(\d+)/);
  await gateway.until("err", /endpoint.ready/);
  for (const [name, bytes] of await makeBombs()) {
    await t.step(name, async () => {
      assert(bytes.length <= BOMB_BYTES_MAX, `${bytes.length}`);
      const [coding] = name.split(",");
      const request = post("/x", bytes, [`Content-Encoding: ${coding}`]);
      const costs: number[] = [];
      const times: number[] = [];
      for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
        await Deno.writeTextFile(
          `/proc/${gateway.pid}/clear_refs`,
          FORGET_PEAK,
        );
        const { now } = await memoryOf(gateway.pid);
        const startMs = await cpuMsOf(gateway.pid);
        using client = await RawClient.connect(Number(port));
        await client.send(request);
        assertEquals((await client.reply()).status, 200);
        assertEquals(size, bytes.length);
        if (round < 0) continue;
        costs.push((await memoryOf(gateway.pid)).peak - now);
        times.push(await cpuMsOf(gateway.pid) - startMs);
      }
      const shown = `${name}: bytes ${costs}, milliseconds ${times}`;
      assert(median(costs) < COST_BYTES_MAX, shown);
      assert(median(times) < CPU_MS_MAX, shown);
    });
  }
});

test("decoders with large windows are so many at once, and no more", () => {
  const open = [];
  for (;;) {
    const decoder = inflate(open.length % 2 === 0 ? "br" : "zstd");
    if (decoder === undefined) break;
    open.push(decoder);
    assert(open.length <= 32, "no end of decoders");
  }
  assertEquals(open.length, 32);
  const gzip = inflate("gzip");
  assert(gzip !== undefined, "gzip has a small window");
  gzip.close();
  for (const decoder of open) {
    decoder.close();
    decoder.close();
  }
  const again = inflate("br");
  assert(again !== undefined, "closed decoders make room");
  again.close();
});
