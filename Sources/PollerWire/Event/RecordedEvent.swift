import JSONText

/// Reads recorded events in one pass.
///
/// *Problem.* A notifier reads each event several times: to find its recipients, for each attempt, and to check the
/// last delivered event. The table of fields checks the text, searches it for its members and reads each member with
/// code for any type, which was a fifth of what a webhook costs.
///
/// *Approach.* This system has written the text, so that its members have the usual types and no escapes in their
/// names. One scan reads such a text. Any other text is read by the table, which therefore decides about everything
/// unusual: both read the same events and reject the same ones.
extension Event {
    /// Reads the bytes of an event.
    ///
    /// - Returns: `nil` when they are not JSON, or not an event.
    package static func recorded(_ bytes: [UInt8]) -> Event? {
        var reader = Reader(bytes)
        if let event = reader.event() { return event }
        // The parse error is of no use to a reader, because only this system writes events.
        return RawJSON(bytes).flatMap { try? Event(reading: $0) }
    }

    /// Reads the bytes of an event with the usual types and names; `nil` for any other text.
    static func usual(_ bytes: [UInt8]) -> Event? {
        var reader = Reader(bytes)
        return reader.event()
    }
}

/// One pass over an event.
private struct Reader {
    /// The members that must be present.
    private static let required: Set<Name> = [
        .id, .type, .account, .source, .kind, .seq, .run, .isFinal, .observed,
    ]

    private enum Name: Int, CaseIterable {
        case id, type, account, source, kind, order, seq, run, previousStatus, status, isFinal
        case closedReason, charge, payment, previousReturned, nextStep, mandate, isLive, object
        case observed, traceparent, metadata

        var bit: UInt32 { 1 << UInt32(truncatingIfNeeded: rawValue) }
    }

    private static let requiredBits = required.reduce(0) { $0 | $1.bit }

    private let bytes: [UInt8]
    private var scanner: JSONScanner

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        scanner = JSONScanner(bytes, depthMax: RawJSON.depthMax)
    }

    mutating func event() -> Event? {
        // An error or an unusual value ends the pass; the table reads such a text.
        try? members()
    }

    private mutating func members() throws(JSONError) -> Event? {
        var event = Event()
        var found: UInt32 = 0
        try scanner.enterObject()
        while let literal = try scanner.nextName() {
            guard !literal.hasEscapes else { return nil }
            guard let name = name(literal) else {
                try scanner.skip(depth: 1)
                continue
            }
            // Of a repeated member the table reads the first.
            guard found & name.bit == 0 else { return nil }
            found |= name.bit
            guard try read(name, into: &event) else { return nil }
        }
        try scanner.finish()
        return found & Self.requiredBits == Self.requiredBits ? event : nil
    }

    private func name(_ literal: JSONScanner.Literal) -> Name? {
        func `is`(_ text: StaticString, _ name: Name) -> Name? {
            scanner.spells(literal, text) ? name : nil
        }
        return switch literal.range.count {
        case 2: `is`("id", .id)
        case 3: `is`("seq", .seq) ?? `is`("run", .run)
        case 4: `is`("type", .type) ?? `is`("kind", .kind)
        case 5: `is`("order", .order) ?? `is`("final", .isFinal)
        case 6:
            `is`("source", .source) ?? `is`("status", .status) ?? `is`("object", .object)
                ?? `is`("charge", .charge)
        case 7: `is`("account", .account) ?? `is`("payment", .payment) ?? `is`("mandate", .mandate)
        case 8:
            `is`("livemode", .isLive) ?? `is`("observed", .observed) ?? `is`("metadata", .metadata)
        case 9: `is`("next_step", .nextStep)
        case 11: `is`("traceparent", .traceparent)
        case 13: `is`("closed_reason", .closedReason)
        case 15: `is`("previous_status", .previousStatus)
        case 24: `is`("previous_amount_returned", .previousReturned)
        default: nil
        }
    }

    /// Reads a member; returns `false` if its value is unusual.
    private mutating func read(_ name: Name, into event: inout Event) throws(JSONError) -> Bool {
        if scanner.peek() == UInt8(ascii: "n") {
            try scanner.skip(depth: 1)
            // A required member that is null is an error, which the table reports.
            return !Self.required.contains(name)
        }
        switch name {
        case .id: return try text(&event.id)
        case .type: return try text(&event.type)
        case .account: return try text(&event.account)
        case .source: return try text(&event.source)
        case .kind: return try text { event.kind = Open(rawValue: $0) }
        case .order: return try text { event.order = $0 }
        case .seq: return try count(&event.seq)
        case .run: return try count(&event.run)
        case .previousStatus: return try text { event.previousStatus = $0 }
        case .status: return try text { event.status = $0 }
        case .isFinal: return try flag { event.isFinal = $0 }
        case .closedReason: return try text { event.closedReason = Open(rawValue: $0) }
        case .charge: return try value("charge", &event.charge)
        case .payment: return try value("payment", &event.payment)
        case .previousReturned:
            var sum = 0
            guard try count(&sum) else { return false }
            event.previousAmountReturned = sum
            return true
        case .nextStep: return try value("next_step", &event.nextStep)
        case .mandate: return try value("mandate", &event.mandate)
        case .isLive: return try flag { event.isLive = $0 }
        case .object:
            event.object = RawJSON(bytes, try scanner.skip(depth: 1))
            return true
        case .observed: return try observed(&event.observed)
        case .traceparent: return try text { event.traceparent = $0 }
        case .metadata: return try value("metadata", &event.metadata)
        }
    }

    private mutating func observed(_ observed: inout Event.Observed) throws(JSONError) -> Bool {
        guard scanner.peek() == UInt8(ascii: "{") else { return false }
        var (hasTime, hasLag) = (false, false)
        try scanner.enterObject()
        while let literal = try scanner.nextName() {
            if !hasTime, scanner.spells(literal, "polled_at") {
                hasTime = true
                var written = ""
                guard try text(&written), let time = Time(written) else { return false }
                observed.polledAt = time
            } else if !hasLag, scanner.spells(literal, "lag_ms") {
                hasLag = true
                var lag = 0
                guard try count(&lag) else { return false }
                observed.lagMs = lag
            } else {
                return false
            }
        }
        return hasTime
    }

    // MARK: - Values

    private mutating func text(_ target: inout String) throws(JSONError) -> Bool {
        guard scanner.peek() == UInt8(ascii: "\"") else { return false }
        guard let text = scanner.text(try scanner.string()) else { return false }
        target = text
        return true
    }

    private mutating func text(_ assign: (String) -> Void) throws(JSONError) -> Bool {
        var written = ""
        guard try text(&written) else { return false }
        assign(written)
        return true
    }

    private mutating func flag(_ assign: (Bool) -> Void) throws(JSONError) -> Bool {
        let first = scanner.peek()
        guard first == UInt8(ascii: "t") || first == UInt8(ascii: "f") else { return false }
        try scanner.skip(depth: 1)
        assign(first == UInt8(ascii: "t"))
        return true
    }

    /// Reads a number of up to 15 digits, which every reader represents exactly.
    private mutating func count(_ target: inout Int) throws(JSONError) -> Bool {
        let range = try scanner.skip(depth: 1)
        guard range.count <= 15 else { return false }
        var number = 0
        for byte in bytes[range] {
            guard byte &- 0x30 < 10 else { return false }
            // At most 15 digits, which cannot overflow.
            number = number * 10 + Int(clamping: byte &- 0x30)
        }
        target = number
        return true
    }

    private mutating func value<Value: WireValue>(
        _ name: String,
        _ target: inout Value?
    ) throws(JSONError) -> Bool {
        let json = RawJSON(bytes, try scanner.skip(depth: 1))
        // The table reads it again, and reports the error.
        guard let value = try? Value.read(json, FieldLocation(name)) else { return false }
        target = value
        return true
    }
}
