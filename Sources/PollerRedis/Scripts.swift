import Poller
package import RedisClient

/// The operations of the queue, each one Lua script behind the common prelude.
///
/// Addressed by digest: two releases with different scripts run beside each other.
package struct Scripts: Sendable {
    let enqueue: RedisScript
    let mark: RedisScript
    let revise: RedisScript
    let claim: RedisScript
    let commit: RedisScript
    let release: RedisScript
    let hint: RedisScript
    let cancel: RedisScript
    let redrive: RedisScript
    let lane: RedisScript
    let control: RedisScript
    let explain: RedisScript
    let audit: RedisScript
    let beat: RedisScript
    let read: RedisScript
    let list: RedisScript
    let log: RedisScript
    let stats: RedisScript
    let ledger: RedisScript
    let settled: RedisScript
    let outboxGroup: RedisScript
    let confirm: RedisScript
    let trim: RedisScript
    let purge: RedisScript
    let sweepTake: RedisScript
    let sweepFinish: RedisScript
    let reads: RedisScript
    let remember: RedisScript
    let suppress: RedisScript
    let endpointCreate: RedisScript
    let endpointWrite: RedisScript
    let endpointChanges: RedisScript
    let endpointRead: RedisScript
    let endpointList: RedisScript

    /// Scripts on Redis' own clock.
    package static let live = Scripts(clock: nil)

    /// Scripts with the clock of a test: `key` holds the time in ms.
    ///
    /// The partition's hash tag is appended to it, so that the key is in the slot of each script.
    package static func virtual(clockKey key: String) -> Scripts {
        Scripts(
            clock: "local function clock() return tonumber(redis.call('GET', '\(key)' .. P)) end"
        )
    }

    /// Every script, for loading and checking them all.
    package var all: [RedisScript] {
        [
            enqueue, mark, revise, claim, commit, release, hint, cancel, redrive, lane, control,
            explain,
            audit, beat, read, list, log, stats, ledger, settled, outboxGroup, confirm, trim, purge,
            sweepTake, sweepFinish, reads, remember, suppress,
            endpointCreate, endpointWrite, endpointChanges, endpointRead, endpointList,
        ]
    }

    private init(clock: String?) {
        func text(_ resource: [UInt8]) -> String {
            ScriptNames.render(String(decoding: resource, as: UTF8.self))
        }
        var prelude = text(PackageResources.prelude_lua)
        if let clock {
            // The prelude keeps its clock on one line for this.
            prelude = prelude.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("local function clock()") ? clock : String($0) }
                .joined(separator: "\n")
        }
        let claiming = text(PackageResources.claiming_lua)
        func script(_ resource: [UInt8], after library: String = "") -> RedisScript {
            let script = text(resource)
            let lineEnd = script.firstIndex(of: "\n") ?? script.endIndex
            return RedisScript(
                source: "\(script[..<lineEnd])\n\(prelude)\(library)\(script[lineEnd...])"
            )
        }
        enqueue = script(PackageResources.enqueue_lua)
        mark = script(PackageResources.mark_lua)
        revise = script(PackageResources.revise_lua)
        claim = script(PackageResources.claim_lua, after: claiming)
        commit = script(PackageResources.commit_lua, after: claiming)
        release = script(PackageResources.release_lua)
        hint = script(PackageResources.hint_lua)
        cancel = script(PackageResources.cancel_lua)
        redrive = script(PackageResources.redrive_lua)
        lane = script(PackageResources.lane_lua)
        control = script(PackageResources.control_lua)
        explain = script(PackageResources.explain_lua)
        audit = script(PackageResources.audit_lua)
        beat = script(PackageResources.beat_lua)
        read = script(PackageResources.read_lua)
        list = script(PackageResources.list_lua)
        log = script(PackageResources.log_lua)
        stats = script(PackageResources.stats_lua)
        ledger = script(PackageResources.ledger_lua)
        settled = script(PackageResources.settled_lua)
        outboxGroup = script(PackageResources.outbox_group_lua)
        confirm = script(PackageResources.confirm_lua)
        trim = script(PackageResources.trim_lua)
        purge = script(PackageResources.purge_lua)
        // They concern accounts instead of partitions, and go by Redis' own clock.
        func plain(_ resource: [UInt8]) -> RedisScript {
            RedisScript(source: text(resource))
        }
        sweepTake = plain(PackageResources.sweep_take_lua)
        sweepFinish = plain(PackageResources.sweep_finish_lua)
        reads = plain(PackageResources.reads_lua)
        remember = plain(PackageResources.remember_lua)
        suppress = plain(PackageResources.suppress_lua)
        endpointCreate = script(PackageResources.endpoint_write_lua)
        // What is registered may change and go also in a store that is full.
        endpointWrite = RedisScript(
            source: "#!lua flags=allow-oom" + endpointCreate.source.dropFirst("#!lua".count)
        )
        endpointChanges = script(PackageResources.endpoint_changes_lua)
        endpointRead = script(PackageResources.endpoint_read_lua)
        endpointList = script(PackageResources.endpoint_list_lua)
    }
}

/// Puts what is stored in the places of the names in scripts.
enum ScriptNames {
    /// Each name a script may use, with the literal that takes its place.
    static let literals: [String: String] = {
        var literals: [String: String] = [:]
        func add<Name: CaseIterable & RawRepresentable>(
            _ group: String,
            _: Name.Type,
            _ literal: (Name.RawValue) -> String = { "'\($0)'" }
        ) {
            for name in Name.allCases { literals["\(group).\(name)"] = literal(name.rawValue) }
        }
        add("KEY", KeyKind.self)
        add("ITEM", ItemField.self)
        add("LONG", LongField.self)
        add("LANE", LaneField.self)
        add("META", MetaField.self)
        add("ENTRY", OutboxField.self)
        add("REGISTRY", RegistryField.self)
        add("SWEEP", SweepField.self)
        add("USAGE", UsageField.self)
        add("MARK", LeaseMark.self)
        add("MARKBYTE", LeaseMark.self) { String($0.value) }
        add("VERDICT", VerdictLetter.self)
        add("SIGNAL", SignalLetter.self)
        add("GOAL", GoalLetter.self)
        // Lua counts from one.
        add("PART", DeliveryPart.self) { String($0 + 1) }
        add("ERROR", ScriptError.self)
        add("GROUP", OutboxGroup.self)
        add("CHANNEL", NewsChannel.self)
        add("CLOSED", ClosedReason.self)
        for outcome in [EnqueueResult.Outcome.created, .restarted, .joined] {
            literals["OUTCOME.\(outcome)"] = "'\(outcome.rawValue)'"
        }
        for (name, hold) in [("upstream", CircuitHold.upstream), ("endpoint", .endpoint)] {
            literals["HOLD.\(name)"] = "{ \(hold.first.ms), \(hold.longest.ms) }"
        }
        literals["HOLD.denialsToDouble"] = String(CircuitHold.denialsToDouble)
        literals["DELIVERY.fresh"] = "'\(DeliveryRecord.text(of: DeliveryState()))'"
        // What scripts read of a lane is a field of the table they have read it into.
        add("lane", LaneField.self) { "lane.\($0)" }
        for field in laneMemory { literals["lane.\(field)"] = "lane.\(field)" }
        return literals
    }()

    /// What scripts note of a lane while they run, and never store.
    private static let laneMemory = [
        "changed", "rescored", "floor", "hasRest", "isFailing", "isSilent", "isDenied",
    ]

    private static let groups = Set(literals.keys.map { String($0.prefix { $0 != "." }) })

    /// A script with every name `GROUP.name` replaced by what is stored.
    ///
    /// Comments stay as they are. A name that is in no table is a mistake in the script, found when
    /// the program starts.
    static func render(_ script: String) -> String {
        script.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                let code = line.drop { $0 == " " }
                return code.hasPrefix("--") || code.hasPrefix("#") ? String(line) : rendered(line)
            }
            .joined(separator: "\n")
    }

    private static func rendered(_ line: Substring) -> String {
        var output = ""
        var rest = line
        while !rest.isEmpty {
            let word = rest.prefix { isWord($0) }
            if word.isEmpty {
                output.append(rest.removeFirst())
                continue
            }
            rest = rest[word.endIndex...]
            let member = rest.dropFirst().prefix { isWord($0) }
            let isField = rest.first == "." && member.first?.isLetter == true
            guard isField, !output.hasSuffix("."), groups.contains(String(word)) else {
                output += word
                continue
            }
            guard let literal = literals["\(word).\(member)"] else {
                preconditionFailure("no table names \(word).\(member): add it to StoreSchema.swift")
            }
            output += literal
            rest = rest[member.endIndex...]
        }
        return output
    }

    private static func isWord(_ character: Character) -> Bool {
        character == "_" || (character.isASCII && (character.isLetter || character.isNumber))
    }
}
