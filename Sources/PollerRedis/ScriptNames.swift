import Poller

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
