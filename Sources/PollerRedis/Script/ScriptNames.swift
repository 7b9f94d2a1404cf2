import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// Replaces the names in scripts with the stored letters.
enum ScriptNames {
    /// Each name a script may use, with the literal that replaces it.
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
        add("STAGE", SplitStage.self)
        add("ENTRY", OutboxField.self)
        add("AUDIT", AuditField.self)
        add("REGISTRY", RegistryField.self)
        add("INCIDENT", IncidentField.self)
        add("SWEEP", SweepField.self)
        add("USAGE", UsageField.self)
        add("MARK", LeaseMark.self)
        add("MARKBYTE", LeaseMark.self) { String($0.value) }
        add("VERDICT", VerdictCode.self)
        add("SIGNAL", SignalCode.self)
        add("FAILURE", LaneFailure.self) { String($0) }
        add("GOAL", GoalCode.self)
        add("OPTION", WatchOption.self)
        literals["OPTIONS.all"] = luaList(WatchOption.allCases)
        literals["OPTIONS.keptFromFirst"] = luaList(WatchOption.allCases.filter(\.isKeptFromFirst))
        add("HINT", HintCode.self)
        // Lua counts from one.
        add("PART", DeliveryPart.self) { String($0 + 1) }
        add("ATTEMPT", AttemptValue.self) { String($0 + 1) }
        add("ERROR", ScriptError.self)
        add("GROUP", OutboxGroup.self)
        add("DEPARTURE", DepartureCode.self)
        add("REVISION", RevisionCode.self)
        add("CHANNEL", NotificationChannel.self)
        add("CLOSED", ClosedReason.self)
        add("STEP", EnqueueStep.self)
        add("OUTCOME", EnqueueOutcomeCode.self)
        // A request is a table of its fields: a script with a misspelled field fails at start.
        add("new", EnqueueField.self) { "new.\($0)" }
        add("request", ClaimField.self) { "request.\($0)" }
        add("commit", CommitField.self) { "commit.\($0)" }
        add("reply", ReplyField.self) { "reply.\($0)" }
        for (name, hold) in [("upstream", CircuitHold.upstream), ("endpoint", .endpoint)] {
            literals["HOLD.\(name)"] = "{ \(hold.first.ms), \(hold.longest.ms) }"
        }
        literals["HOLD.denialsToDouble"] = String(CircuitHold.denialsToDouble)
        literals["NOTIFY.max"] = String(NewWatch.notifyKeptMax)
        literals["KEEP.error"] = "'\(ItemError.kept)'"
        literals["SEARCH.term"] = String(SearchTerm.length)
        literals["SEARCH.bucket"] = String(SearchTerm.bucketLength)
        literals["SEARCH.termsMax"] = String(SearchTerm.countMax)
        literals["SEARCH.wordsBytes"] = String(ShortText.bytesMax)
        literals["PACKED.compacted"] = String(CompactedEvents.mark)
        literals["SHORT.mark"] = String(ShortText.mark)
        literals["SHORT.markText"] = "'\\\(ShortText.mark)'"
        literals["SHORT.max"] = String(ShortText.bytesMax)
        literals["SHORT.fragments"] = ShortText.luaTable
        literals["RESULT.delivered"] = "'\(PackedAttempt.code(of: .delivered))'"
        literals["RESULT.skipped"] = "'\(PackedAttempt.code(of: .skipped))'"
        literals["DELIVERY.fresh"] = "'\(DeliveryRecord.text(of: DeliveryState()))'"
        // A field of a lane is a field of the table into which scripts have read it.
        add("lane", LaneField.self) { "lane.\($0)" }
        for field in laneMemory { literals["lane.\(field)"] = "lane.\(field)" }
        return literals
    }()

    /// The values of a lane that scripts set while they run, and never store.
    private static let laneMemory = [
        "name", "changed", "hasNormal", "isFailing", "isSilent", "isDenied",
    ]

    private static func luaList(_ options: [WatchOption]) -> String {
        "{ " + options.map { "'\($0.rawValue)'" }.joined(separator: ", ") + " }"
    }

    private static let groups = Set(literals.keys.map { String($0.prefix { $0 != "." }) })

    /// Replaces every name `GROUP.name` in a script with its stored value.
    ///
    /// Comments are left unchanged. A name that is in no table is a mistake in the script, found when the program
    /// starts. Plain indices are used instead of slices and closures, which take ten times as long without
    /// optimisation. Every process renders all scripts when it starts.
    static func render(_ script: String) -> String {
        let bytes = Array(script.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        var index = 0
        while index < bytes.count {
            if bytes[index] == dot, let name = name(around: index, in: bytes, from: copied) {
                output += bytes[copied..<name.range.lowerBound]
                output += name.literal.utf8
                copied = name.range.upperBound
                index = copied
            } else {
                index += 1
            }
        }
        output += bytes[copied...]
        return String(decoding: output, as: UTF8.self)
    }

    private static let dot = UInt8(ascii: ".")

    /// Returns the name around a dot and its literal; `nil` if there is no name of a table.
    private static func name(
        around dot: Int,
        in bytes: [UInt8],
        from first: Int
    ) -> (range: Range<Int>, literal: String)? {
        var start = dot
        while start > first, isWord(bytes[start - 1]) { start -= 1 }
        var end = dot + 1
        // A field of a field is no name.
        let isField = start > first && bytes[start - 1] == Self.dot
        guard start < dot, !isField, end < bytes.count, isLetter(bytes[end]) else { return nil }
        let group = text(bytes[start..<dot])
        guard groups.contains(group), !isInComment(start, of: bytes) else { return nil }
        while end < bytes.count, isWord(bytes[end]) { end += 1 }
        let member = text(bytes[(dot + 1)..<end])
        guard let literal = literals["\(group).\(member)"] else {
            preconditionFailure("no table names \(group).\(member): add it to StoreSchema.swift")
        }
        return (start..<end, literal)
    }

    /// Whether the line at this index is a comment, or the line with the flags of a script.
    private static func isInComment(_ index: Int, of bytes: [UInt8]) -> Bool {
        var start = index
        while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
        let code = bytes[start...].drop { $0 == UInt8(ascii: " ") }
        return code.starts(with: "--".utf8) || code.first == UInt8(ascii: "#")
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        isLetter(byte) || byte == UInt8(ascii: "_")
            || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        // The bit distinguishes lowercase from uppercase letters.
        byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
    }
}
