/**
 * `tryst restore`: lets a drained endpoint take work again.
 *
 * Invariant: it says what state the endpoint is in, as one that has not been
 * seen well takes none yet.
 *
 * @module
 */
import { JSON_FLAG } from "./admin_answer.ts";
import { ADMIN_FLAGS, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import { changeEndpoint } from "./endpoint_answer.ts";

/** The command. */
export const restoreCommand: Command = {
  name: "restore",
  summary: "Let a drained endpoint take requests again",
  operand: "ENDPOINT",
  flags: [...ADMIN_FLAGS, JSON_FLAG],
  run(args, edge) {
    const id = args.operand;
    return withAdmin(args, edge, async (client) => {
      const row = await changeEndpoint("restore", id, { client, edge });
      if (typeof row === "number") return row;
      edge.out(
        args.values.has(JSON_FLAG.name)
          ? JSON.stringify(row, null, 2)
          : `Endpoint "${id}" is ${row["state"]}`,
      );
      return EXIT.ok;
    });
  },
};
