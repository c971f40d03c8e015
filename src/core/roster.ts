/**
 * Who is there right now: a list that things join and leave at a high rate.
 *
 * A `Set` would do, but for one thing. When its table is full it moves to a
 * new one, and V8 links the old table to the new. Once such a table has grown
 * old, the chain keeps what every later table held from being collected by
 * the cheap collections of young objects. Under load that doubled the cost of
 * a request (35 against 17 us measured on Deno 2.9.6).
 *
 * Invariant: members stand in a dense array, each knowing its place; leaving
 * moves the last member there. There is no order to rely on.
 *
 * @module
 */

/** Something that can be in one roster at a time. */
export interface RosterMember {
  /** Written by the roster alone; -1 outside of one. */
  rosterPlace: number;
}

/** The members that are there. */
export class Roster<Member extends RosterMember> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Joins; a member that is there stays as it is. */
  add(member: Member): void {
    if (member.rosterPlace >= 0) return;
    member.rosterPlace = this.#members.length;
    this.#members.push(member);
  }

  /** Leaves; false when the member was not there. */
  delete(member: Member): boolean {
    const place = member.rosterPlace;
    if (place < 0) return false;
    member.rosterPlace = -1;
    const last = this.#members.pop();
    if (last !== undefined && last !== member) {
      this.#members[place] = last;
      last.rosterPlace = place;
    }
    return true;
  }

  /** Has all members leave. */
  clear(): void {
    for (const member of this.#members) member.rosterPlace = -1;
    this.#members.length = 0;
  }

  /** Calls `visit` for each member; members may leave meanwhile. */
  forEach(visit: (member: Member) => void): void {
    // From the end: whoever leaves is replaced by one that has been visited.
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place];
      if (member !== undefined) visit(member);
    }
  }
}
