import Poller
import PollerIdentity
import PollerQueue

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
        add("ERROR", ScriptError.self)
        add("GROUP", OutboxGroup.self)
        add("DEPARTURE", DepartureCode.self)
        add("CHANNEL", NotificationChannel.self)
        add("CLOSED", ClosedReason.self)
        add("STEP", EnqueueStep.self)
        add("OUTCOME", EnqueueOutcomeCode.self)
        // A request is a table of its fields: a script with a misspelled field fails at start.
        add("new", EnqueueField.self) { "new.\($0)" }
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
        literals["PACKED.folded"] = String(FoldedEvents.mark)
        literals["SHORT.mark"] = String(ShortText.mark)
        literals["SHORT.markText"] = "'\\\(ShortText.mark)'"
        literals["SHORT.max"] = String(ShortText.bytesMax)
        literals["SHORT.fragments"] = ShortText.luaTable
        literals["ATTEMPT.delivered"] = "'\(AttemptLine.code(of: .delivered))'"
        literals["ATTEMPT.skipped"] = "'\(AttemptLine.code(of: .skipped))'"
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
    /// starts. The text is processed as bytes: processing characters took a quarter of the startup time.
    static func render(_ script: String) -> String {
        let bytes = Array(script.utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var start = 0
        while start <= bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let line = bytes[start..<end]
            let code = line.drop { $0 == UInt8(ascii: " ") }
            if code.starts(with: "--".utf8) || code.first == UInt8(ascii: "#") {
                output += line
            } else {
                render(line, into: &output)
            }
            if end < bytes.count { output.append(bytes[end]) }
            start = end + 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func render(_ line: ArraySlice<UInt8>, into output: inout [UInt8]) {
        let dot = UInt8(ascii: ".")
        var rest = line
        while let byte = rest.first {
            let word = rest.prefix(while: isWord)
            if word.isEmpty {
                output.append(byte)
                rest = rest.dropFirst()
                continue
            }
            rest = rest[word.endIndex...]
            let member = rest.dropFirst().prefix(while: isWord)
            let isField = rest.first == dot && member.first.map(isLetter) ?? false
            guard isField, output.last != dot, groups.contains(text(word)) else {
                output += word
                continue
            }
            guard let literal = literals["\(text(word)).\(text(member))"] else {
                preconditionFailure(
                    "no table names \(text(word)).\(text(member)): add it to StoreSchema.swift"
                )
            }
            output += literal.utf8
            rest = rest[member.endIndex...]
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        isLetter(byte) || byte == UInt8(ascii: "_")
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        // The bit distinguishes lowercase from uppercase letters.
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
