/**
 * `tryst restore`: lets a drained endpoint take work again.
 *
 * Invariant: it says what state the endpoint is in, as one that has not been
 * seen well takes none yet.
 *
 * @module
 */
import { ADMIN_FLAG, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import { changeEndpoint } from "./endpoint_answer.ts";

/** The command. */
export const restoreCommand: Command = {
  name: "restore",
  summary: "Let a drained endpoint take requests again",
  operand: "ENDPOINT",
  flags: [ADMIN_FLAG],
  run(args, edge) {
    const id = args.operand;
    return withAdmin(args, edge, async (client) => {
      const row = await changeEndpoint("restore", id, { client, edge });
      if (typeof row === "number") return row;
      edge.out(`Endpoint "${id}" is ${row["state"]}`);
      return EXIT.ok;
    });
  },
};
