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
    fileprivate enum Preface: CaseIterable {
        case prelude
        case texts
        case record
        case createdIndex
        case reopen
        case results
        case searchIndex
        case compactedEvents
        case readItem
        case recover
        case claim
        case release
    }

    fileprivate var file: [UInt8] {
        switch self {
        case .orderStore: PackageResources.order_store_lua
        case .orderList: PackageResources.order_list_lua
        case .incidentTake: PackageResources.incident_take_lua
        case .incidentStore: PackageResources.incident_store_lua
        case .incidentList: PackageResources.incident_list_lua
        case .deadLetters: PackageResources.dead_letters_lua
        case .enqueue: PackageResources.enqueue_lua
        case .mark: PackageResources.mark_lua
        case .revise: PackageResources.revise_lua
        case .claim: PackageResources.claim_lua
        case .commit: PackageResources.commit_lua
        case .release: PackageResources.release_lua
        case .recall: PackageResources.recall_lua
        case .hint: PackageResources.hint_lua
        case .cancel: PackageResources.cancel_lua
        case .announce: PackageResources.announce_lua
        case .redrive: PackageResources.redrive_lua
        case .dismiss: PackageResources.dismiss_lua
        case .note: PackageResources.note_lua
        case .restore: PackageResources.restore_lua
        case .replayNote: PackageResources.replay_note_lua
        case .lane: PackageResources.lane_lua
        case .control: PackageResources.control_lua
        case .explain: PackageResources.explain_lua
        case .audit: PackageResources.audit_lua
        case .heartbeat: PackageResources.heartbeat_lua
        case .read: PackageResources.read_lua
        case .log, .logConfirmed: PackageResources.log_lua
        case .stats: PackageResources.stats_lua
        case .search: PackageResources.search_lua
        case .index: PackageResources.index_lua
        case .quarantined: PackageResources.quarantined_lua
        case .findUnindexed: PackageResources.find_unindexed_lua
        case .laneNames: PackageResources.lane_names_lua
        case .countOpen: PackageResources.count_open_lua
        case .newest: PackageResources.newest_lua
        case .markWatermark: PackageResources.mark_watermark_lua
        case .outboxAcknowledged: PackageResources.outbox_acknowledged_lua
        case .outboxGroup: PackageResources.outbox_group_lua
        case .outboxHold: PackageResources.outbox_hold_lua
        case .confirm: PackageResources.confirm_lua
        case .outboxEvents, .outboxEventsConfirmed: PackageResources.outbox_events_lua
        case .compactRead: PackageResources.compact_read_lua
        case .compactWrite: PackageResources.compact_write_lua
        case .trimAttempts: PackageResources.trim_attempts_lua
        case .rested: PackageResources.rested_lua
        case .trim: PackageResources.trim_lua
        case .purge: PackageResources.purge_lua
        case .sweepTake: PackageResources.sweep_take_lua
        case .sweepFinish: PackageResources.sweep_finish_lua
        case .addUsage: PackageResources.add_usage_lua
        case .setMarks: PackageResources.set_marks_lua
        case .suppress: PackageResources.suppress_lua
        case .reencrypt: PackageResources.reencrypt_lua
        case .layoutRestore: PackageResources.layout_restore_lua
        case .endpointCreate, .endpointWrite: PackageResources.endpoint_write_lua
        case .endpointChanges: PackageResources.endpoint_changes_lua
        case .endpointRead: PackageResources.endpoint_read_lua
        case .endpointList: PackageResources.endpoint_list_lua
        case .endpointCount: PackageResources.endpoint_count_lua
        case .keyWrite: PackageResources.key_write_lua
        case .keyList: PackageResources.key_list_lua
        case .keyUsed: PackageResources.key_used_lua
        case .auditTrailAdd: PackageResources.audit_trail_add_lua
        case .activityAdd: PackageResources.activity_add_lua
        case .activityRead: PackageResources.activity_read_lua
        case .requestClaim, .requestAct: PackageResources.idempotent_request_lua
        case .splitStage: PackageResources.split_stage_lua
        case .splitClock: PackageResources.split_clock_lua
        case .splitList: PackageResources.split_list_lua
        case .splitRead: PackageResources.split_read_lua
        case .splitWrite: PackageResources.split_write_lua
        case .splitForget: PackageResources.split_forget_lua
        case .suspectBegin: PackageResources.suspect_begin_lua
        case .suspectSetAside: PackageResources.suspect_set_aside_lua
        case .suspectEnd: PackageResources.suspect_end_lua
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
        let text = Self.rendered(PackageResources.prelude_lua)
        let prelude = clock.map { Self.withClock($0, in: text) } ?? text
        prefaces = [
            .prelude: prelude,
            .texts: Self.rendered(PackageResources.lib_texts_lua),
            .record: Self.rendered(PackageResources.lib_record_lua),
            .createdIndex: Self.rendered(PackageResources.lib_created_index_lua),
            .reopen: Self.rendered(PackageResources.lib_reopen_lua),
            .results: Self.rendered(PackageResources.lib_results_lua),
            .searchIndex: Self.rendered(PackageResources.lib_search_index_lua),
            .compactedEvents: Self.rendered(PackageResources.lib_compacted_events_lua),
            .readItem: Self.rendered(PackageResources.lib_read_item_lua),
            .recover: Self.rendered(PackageResources.lib_recover_lua),
            .claim: Self.rendered(PackageResources.lib_claim_lua),
            .release: Self.rendered(PackageResources.lib_release_lua),
        ]
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
        let text = rendered(name.file)
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

    private static func rendered(_ file: [UInt8]) -> String {
        ScriptNames.render(String(decoding: file, as: UTF8.self))
    }
}
