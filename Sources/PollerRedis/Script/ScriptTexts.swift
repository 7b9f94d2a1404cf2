/// The name of each script, under which its function is called.
enum ScriptName: String, CaseIterable {
    case orderStore, orderList
    case incidentTake, incidentStore, incidentList, deadLetters
    case enqueue, mark, revise, claim, commit, release, recall, hint, cancel, announce, redrive,
        dismiss
    case note, restore, replayNote
    case lane, control, explain, audit, heartbeat, read, log, stats
    case search, index, quarantined, findUnindexed, laneNames, countOpen
    case newest
    case markWatermark, outboxAcknowledged, outboxGroup, outboxHold, confirm, outboxEvents, trim,
        purge
    case compactRead, compactWrite, trimAttempts, rested
    case sweepTake, sweepFinish, addUsage, setMarks, suppress, reencrypt, layoutRestore
    case endpointCreate, endpointWrite, endpointChanges, endpointRead, endpointList, endpointCount
    case keyWrite, keyList, keyUsed, auditTrailAdd, activityAdd, activityRead
    case requestClaim, requestAct
    case logConfirmed, outboxEventsConfirmed
    case splitStage, splitClock, splitList, splitRead, splitWrite, splitForget
    case suspectBegin, suspectSetAside, suspectEnd

    /// The prefaces of scripts, in their order.
    fileprivate enum Preface: String, CaseIterable {
        case prelude
        case texts = "libTexts"
        case record = "libRecord"
        case createdIndex = "libCreatedIndex"
        case reopen = "libReopen"
        case results = "libResults"
        case searchIndex = "libSearchIndex"
        case compactedEvents = "libCompactedEvents"
        case readItem = "libReadItem"
        case recover = "libRecover"
        case claim = "libClaim"
        case release = "libRelease"
    }

    /// The text of the script's file, which has the name of the case in snake case.
    ///
    /// Some scripts share a file.
    fileprivate var text: String {
        switch self {
        case .logConfirmed: Self.log.text
        case .outboxEventsConfirmed: Self.outboxEvents.text
        case .endpointCreate: Self.endpointWrite.text
        case .requestClaim, .requestAct: ScriptTexts.file("idempotentRequest")
        default: ScriptTexts.file(rawValue)
        }
    }

    fileprivate var prefaces: [Preface] {
        switch self {
        case .hint: [.prelude, .createdIndex, .reopen]
        case .mark, .revise, .redrive, .newest, .search: [.prelude, .createdIndex]
        case .enqueue: [.prelude, .texts, .createdIndex, .searchIndex, .compactedEvents, .readItem]
        case .index, .findUnindexed: [.prelude, .createdIndex, .searchIndex]
        case .purge, .splitRead, .splitWrite, .splitForget: [.prelude, .createdIndex, .searchIndex]
        case .restore: [.prelude, .texts, .createdIndex, .searchIndex, .compactedEvents]
        case .outboxEvents, .outboxEventsConfirmed: [.prelude, .texts, .compactedEvents]
        case .read: [.prelude, .compactedEvents, .readItem]
        case .log, .logConfirmed, .compactRead, .compactWrite: [.prelude, .compactedEvents]
        case .claim: [.prelude, .recover, .claim]
        case .commit:
            [
                .prelude, .texts, .record, .createdIndex, .reopen, .results, .searchIndex, .recover,
                .claim,
            ]
        case .cancel: [.prelude, .texts, .record, .createdIndex]
        case .announce, .orderStore, .incidentStore: [.prelude, .texts, .record]
        case .release, .recall: [.prelude, .release]
        case .audit: [.prelude, .createdIndex, .compactedEvents]
        // They concern accounts or the store instead of partitions, and use Redis' own clock.
        case .sweepTake, .sweepFinish, .addUsage, .setMarks, .suppress, .reencrypt, .layoutRestore:
            []
        default: [.prelude]
        }
    }
}

/// How scripts check that their caller has the partition's lane layout.
extension ScriptName {
    /// Whether the script checks the layout first.
    ///
    /// Of the other scripts, those that read the queue's clock check it then. Scripts that access unmoved data, or
    /// lists of all partitions, need no check.
    var checksLayout: Bool {
        switch self {
        case .log, .logConfirmed, .outboxEvents, .outboxEventsConfirmed, .findUnindexed, .countOpen,
            .dismiss, .index,
            .compactRead, .compactWrite, .trimAttempts, .rested,
            .purge, .orderList, .replayNote, .quarantined, .search, .laneNames, .deadLetters,
            .newest:
            true
        default: false
        }
    }
}

extension ScriptName {
    /// Whether the script reads events to deliver, and writes a value to wait for.
    ///
    /// The wait proves that the server has replicas: a master that was cut off may have data that no other server will
    /// get.
    fileprivate var confirms: Bool { self == .logConfirmed || self == .outboxEventsConfirmed }
}

/// The texts sent to Redis: the same files as scripts and as a library of functions.
///
/// A file is the body of a function of `KEYS` and `ARGV`, and its first line has the flags for Redis (`#!lua flags=…`).
/// The prefaces (`prelude.lua`, `lib_reopen.lua`, …) define functions and constants and call nothing: in a library they
/// run once, when it is loaded. So the first statement of a body is `enter(KEYS)`, which resets the variables of the
/// call.
struct ScriptTexts {
    private let prefaces: [ScriptName.Preface: String]
    private let scripts: [ScriptName: Script]

    /// The flags of a script, and the lines after them.
    private struct Script {
        let flags: String?
        let body: String
    }

    /// Creates the texts; `clock` replaces the prelude's clock.
    init(clock: String?) {
        var prefaces: [ScriptName.Preface: String] = [:]
        for preface in ScriptName.Preface.allCases {
            prefaces[preface] = ScriptNames.render(Self.file(preface.rawValue))
        }
        if let clock, let prelude = prefaces[.prelude] {
            prefaces[.prelude] = Self.withClock(clock, in: prelude)
        }
        self.prefaces = prefaces
        scripts = Dictionary(
            uniqueKeysWithValues: ScriptName.allCases.map { ($0, Self.script(of: $0)) }
        )
    }

    /// Returns a text with another clock, which the prelude defines on a line of its own.
    static func withClock(_ clock: String, in text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("local function clock()") ? clock : String($0) }
            .joined(separator: "\n")
    }

    /// Returns a stand-alone script.
    func source(of name: ScriptName) -> String {
        let (flags, body) = parts(of: name)
        let line = flags.map { "#!lua flags=\($0)" } ?? "#!lua"
        let before = text(of: name.prefaces)
        return before.isEmpty
            ? "\(line)\(body)" : "\(line)\n\(before)\(entrance(name, flags))\(body)"
    }

    /// All scripts as functions.
    var library: String {
        text(of: ScriptName.Preface.allCases)
            + ScriptName.allCases.map { function($0) }.joined()
    }

    private func text(of prefaces: [ScriptName.Preface]) -> String {
        prefaces.compactMap { self.prefaces[$0] }.joined()
    }

    private func function(_ name: ScriptName) -> String {
        let (flags, body) = parts(of: name)
        return """

            redis.register_function{
            function_name = LIBRARY .. '_\(name.rawValue)',
            flags = { \(flags.map { "'\($0)'" } ?? "") },
            callback = function(KEYS, ARGV) \(entrance(name, flags))\(body)
            end }

            """
    }

    /// Returns the first statement of a body.
    private func entrance(_ name: ScriptName, _ flags: String?) -> String {
        if name.prefaces.isEmpty { return "" }
        let isReading = flags == "no-writes" || name.confirms
        let enter = isReading ? "enter(KEYS, true)" : "enter(KEYS)"
        let checked = name.checksLayout ? "\(enter) read_and_check_layout()" : enter
        return name.confirms
            ? "\(checked) call('HINCRBY', M, '\(MetaField.confirmed.rawValue)', '1')" : checked
    }

    private func parts(of name: ScriptName) -> (flags: String?, body: String) {
        guard let script = scripts[name] else { preconditionFailure("made of every name") }
        return (script.flags, script.body)
    }

    private static func script(of name: ScriptName) -> Script {
        let text = ScriptNames.render(name.text)
        let lineEnd = text.firstIndex(of: "\n") ?? text.endIndex
        let flags = text[..<lineEnd].split(separator: "flags=").dropFirst().first.map(String.init)
        // The registry must accept changes and removals even in a full store, and requests with an idempotency key must
        // be distinguished from their repeats.
        let isAllowed = name == .endpointWrite || name == .keyWrite || name == .requestAct
        return Script(
            flags: isAllowed || name.confirms ? "allow-oom" : flags,
            body: String(text[lineEnd...])
        )
    }

    /// Returns the text of a file by its name in camel case: `enqueue` or `libReopen`.
    fileprivate static func file(_ name: String) -> String {
        let words = name.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }
        guard let text = EmbeddedTexts.byFile["\(words.joined()).lua"] else {
            preconditionFailure("no script \(name)")
        }
        return text
    }
}
