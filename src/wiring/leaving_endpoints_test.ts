/**
 * What is told of endpoints that leave, over the real table and its slots.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { EndpointSlots } from "../core/endpoints/endpoint_slots.ts";
import { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import { LeavingEndpoints } from "./leaving_endpoints.ts";

function world() {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  const events: string[] = [];
  const leaving = new LeavingEndpoints({
    table,
    log: (_level, event, fields = {}) =>
      void events.push([event, ...Object.values(fields)].join(" ")),
  });
  const replace = (...ids: string[]) => {
    const assigned = slots.assign(ids);
    leaving.replace(ids, (id) => assigned.get(id)?.slot ?? -1);
    return assigned;
  };
  const told = () => events.splice(0);
  return { leaving, replace, table, told };
}

test("LeavingEndpoints tells of a removal, and of its last request", () => {
  const { leaving, replace, table, told } = world();
  const slot = replace("a", "b").get("a")?.slot ?? -1;
  assertEquals(told(), []);
  table.tryReserve(slot);
  table.tryReserve(slot);
  replace("b");
  assertEquals(told(), ["endpoint.removed a 2"]);
  table.release(slot);
  leaving.look();
  assertEquals(told(), []);
  table.release(slot);
  leaving.look();
  leaving.look();
  assertEquals(told(), ["endpoint.gone a"]);
  replace();
  leaving.look();
  assertEquals(told(), ["endpoint.removed b 0"]);
});

test("LeavingEndpoints says nothing of one that comes back", () => {
  const { leaving, replace, table, told } = world();
  const slot = replace("a").get("a")?.slot ?? -1;
  table.tryReserve(slot);
  replace("b");
  replace("a", "b");
  table.release(slot);
  leaving.look();
  assertEquals(told(), ["endpoint.removed a 1"]);
});

test("LeavingEndpoints takes no request of another for one of its own", () => {
  const { leaving, replace, table, told } = world();
  const slot = replace("a").get("a")?.slot ?? -1;
  table.tryReserve(slot);
  replace();
  table.release(slot);
  // Enough others to be given every slot.
  replace(...Array.from({ length: 256 }, (_, n) => `other-${n}`));
  table.tryReserve(slot);
  leaving.look();
  assertEquals(told(), ["endpoint.removed a 1", "endpoint.gone a"]);
});
