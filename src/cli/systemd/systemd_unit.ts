/**
 * The systemd unit of the gateway, as a table of lines with their reasons.
 *
 * Sources: systemd.unit(5), systemd.service(5), systemd.exec(5) and
 * systemd.resource-control(5). Every key is known to systemd 248 and later.
 *
 * What cannot be set, and why:
 *
 * - `MemoryDenyWriteExecute`: JavaScript is compiled while it runs, so memory
 *   has to become executable.
 * - `ProcSubset=pid`: the runtime sizes its heaps by `/proc/meminfo`.
 * - `IPAddressDeny`: clients and engines may be anywhere.
 *
 * Invariant: each line has its reason in the unit itself, and every time in it
 * follows from the configuration.
 *
 * @module
 */

/** What a unit is made for. */
export interface UnitOptions {
  /** The configuration file, from the root. */
  readonly configPath: string;
  /** For a user's own service manager instead of the machine's. */
  readonly isUser: boolean;
  /** The longest that a stop takes: `stop.ready_grace` and `stop.deadline`. */
  readonly stopMs: number;
  /** The port of clients, and that of the admin address. */
  readonly ports: readonly number[];
}

/** A reason, in one line, and the lines that it is for. */
type Row = readonly [why: string, ...lines: readonly string[]];

/** A section of the unit. */
type Section = readonly [name: string, ...rows: readonly Row[]];

/** The first line, by which an installed unit is known as one of these. */
export const UNIT_MARK =
  '# Printed by "tryst systemd": changes belong in "systemctl edit tryst"';

/** Where the executable has to be, by kind of unit. */
export const EXECUTABLE = {
  system: "/usr/local/bin/tryst",
  user: "%h/.local/bin/tryst",
} as const;

/**
 * Whether SIGHUP makes `tryst serve` read its configuration anew. Then systemd
 * sends it and waits for the answer, from version 253 on; an earlier one does
 * not know the second type and keeps the first.
 */
const RELOADS = true;

/** Seconds beyond the longest stop until what is left is killed. */
const STOP_SLACK_S = 10;

/**
 * 64 workers, the most there are, with the 33 threads that the runtime may use
 * for each, are 2,112; twice as many leave room for those that are replaced.
 */
const TASKS_MAX = 4_096;

/** 32,000 clients at a time, with a connection on either side of the gateway. */
const FILES_MAX = 65_536;

/** Ports below this one are for privileged processes. */
const UNPRIVILEGED_PORT = 1_024;

/** Prints the unit. */
export function systemdUnit(options: UnitOptions): string {
  const sections = [
    unitSection(options),
    serviceSection(options),
    installSection(options),
  ];
  return [UNIT_MARK, ...sections.map(sectionText)].join("\n\n") + "\n";
}

function sectionText([name, ...rows]: Section): string {
  const texts = rows.map(([why, ...lines]) => [`# ${why}`, ...lines]);
  return [`[${name}]`, ...texts.flat()].join("\n");
}

function unitSection({ isUser }: UnitOptions): Section {
  return [
    "Unit",
    [
      "What systemctl shows",
      "Description=Tryst, session-aware gateway for LLM inference servers",
    ],
    // A user's manager knows no network.
    ...rowsIf(!isUser, [
      "Names of engines can be resolved once there is a network",
      "Wants=network-online.target",
      "After=network-online.target",
    ]),
    [
      "It is never given up: engines without a gateway serve nobody",
      "StartLimitIntervalSec=0",
    ],
  ];
}

function serviceSection(options: UnitOptions): Section {
  return [
    "Service",
    ...runRows(options),
    ...boundRows(),
    ...(options.isUser ? [] : machineRows(options)),
    ...processRows(),
  ];
}

function installSection({ isUser }: UnitOptions): Section {
  return [
    "Install",
    [
      "Started with the machine, or with the user's first session",
      `WantedBy=${isUser ? "default" : "multi-user"}.target`,
    ],
  ];
}

/** How it is started, watched and ended. */
function runRows({ configPath, isUser, stopMs }: UnitOptions): Row[] {
  const executable = isUser ? EXECUTABLE.user : EXECUTABLE.system;
  const stopS = Math.ceil(stopMs / 1_000) + STOP_SLACK_S;
  return [
    [
      "It says when it listens, and what waits for it starts then",
      "Type=notify",
      ...(RELOADS ? ["Type=notify-reload"] : []),
    ],
    ["Only the gateway itself speaks for it", "NotifyAccess=main"],
    [
      "The configuration file; tryst check says what it comes to",
      `ExecStart=${executable} serve --config ${unitWord(configPath)}`,
    ],
    [
      "It has two minutes to start its workers on a busy machine",
      "TimeoutStartSec=120",
    ],
    [
      "Silent that long it hangs; twice a stop, which this must not cut short",
      `WatchdogSec=${2 * stopS}`,
    ],
    [
      "SIGTERM lets running requests finish; one more would cut them",
      "KillSignal=SIGTERM",
      "KillMode=mixed",
    ],
    [
      `stop.ready_grace and stop.deadline, and ${STOP_SLACK_S} s to spare`,
      `TimeoutStopSec=${stopS}`,
    ],
    [
      "It comes back after a crash, a hang or requests that were cut",
      "Restart=on-failure",
      "RestartSec=2",
    ],
    [
      "2 is a wrong configuration, which starting again does not mend",
      "RestartPreventExitStatus=2",
    ],
    [
      "The state outlives restarts, and only the service may read it",
      "StateDirectory=tryst",
      "StateDirectoryMode=0700",
    ],
    ["The folder of the file above exists", "ConfigurationDirectory=tryst"],
  ];
}

/** What it may take of the machine. */
function boundRows(): Row[] {
  return [
    [
      "Each connection takes one, on either side of the gateway",
      `LimitNOFILE=${FILES_MAX}`,
    ],
    [
      "A dump of its memory would hold API keys, credentials and prompts",
      "LimitCORE=0",
    ],
    [
      "What goes wrong here must not take the memory of the engines",
      "MemoryMax=25%",
    ],
    ["Threads of at most 64 workers, with room", `TasksMax=${TASKS_MAX}`],
  ];
}

/** What keeps it apart from the machine; only its own manager can do that. */
function machineRows({ ports }: UnitOptions): Row[] {
  const isLow = ports.some((port) => port > 0 && port < UNPRIVILEGED_PORT);
  return [
    [
      "A user of its own, which exists while it runs",
      "DynamicUser=yes",
    ],
    ...(isLow
      ? [
        [
          "Ports below 1024, and no other privilege",
          "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
          "AmbientCapabilities=CAP_NET_BIND_SERVICE",
        ] as const,
      ]
      : [
        [
          "No privileges at all: its ports are 1024 and up",
          "CapabilityBoundingSet=",
          "AmbientCapabilities=",
          "PrivateUsers=yes",
        ] as const,
      ]),
    [
      "It writes its state and nothing else",
      "ProtectSystem=strict",
      "ProtectHome=yes",
      "PrivateTmp=yes",
      "PrivateMounts=yes",
    ],
    [
      "It needs no devices, no clock to set and no kernel to tune",
      "PrivateDevices=yes",
      "DevicePolicy=closed",
      "ProtectClock=yes",
      "ProtectHostname=yes",
      "ProtectKernelLogs=yes",
      "ProtectKernelModules=yes",
      "ProtectKernelTunables=yes",
      "ProtectControlGroups=yes",
    ],
    [
      "Other processes are none of its business",
      "ProtectProc=invisible",
      "PrivateIPC=yes",
      "RemoveIPC=yes",
      "KeyringMode=private",
    ],
  ];
}

/** What it may ask of the kernel. */
function processRows(): Row[] {
  return [
    ["Nothing it could start gains rights", "NoNewPrivileges=yes"],
    ["Files of the state are its own", "UMask=0077"],
    [
      "It speaks TCP, and to unix sockets of engines and of systemd",
      "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    ],
    [
      "It makes no containers, real-time threads or set-user-ID files",
      "RestrictNamespaces=yes",
      "RestrictRealtime=yes",
      "RestrictSUIDSGID=yes",
      "LockPersonality=yes",
    ],
    [
      "System calls of a service; pkey ones guard code compiled at run time",
      "SystemCallArchitectures=native",
      "SystemCallFilter=@system-service @pkey",
      "SystemCallFilter=~@privileged @resources",
      "SystemCallErrorNumber=EPERM",
    ],
    ["Not MemoryDenyWriteExecute: JavaScript is compiled while it runs"],
    ["Not ProcSubset=pid: heaps are sized by /proc/meminfo"],
  ];
}

/** A word of a command line, as systemd.service(5) has it quoted. */
function unitWord(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, "\\$&")
    .replace(
      /\p{Cc}/gu,
      (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`,
    )
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return /^[\w./@:+,%$-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

function rowsIf(holds: boolean, row: Row): Row[] {
  return holds ? [row] : [];
}
