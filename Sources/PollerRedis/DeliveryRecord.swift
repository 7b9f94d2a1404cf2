import Poller

/// A delivery in Redis.
///
/// *Shape*: source = the watch's source, facts `kind|account`, lane = the endpoint, state
/// `cursor|failures|attempts|retry at ms|failed since ms|newest told to the fallback|dead seqs|those
/// to send again|digest of the event at the cursor|those the fallback is owed`, the seqs with commas
/// between (missing before the first attempt, and without the empty values at its end), private
/// value = the inline URL; none for a registered endpoint.
enum DeliveryRecord: ItemRecord {
    static func facts(of watch: WatchKey) -> String {
        Packed.join([watch.kind.rawValue, watch.account.description])
    }

    static func item(_ fields: ItemFields) -> Delivery? {
        let facts = Packed.split(fields.facts)
        let url = try? NotifyURL(fields.privateValue)
        guard facts.count == 2, !facts[0].isEmpty,
            url != nil || fields.privateValue.isEmpty
        else { return nil }
        return Delivery(
            endpoint: EndpointID(unchecked: fields.lane),
            url: url,
            watch: WatchKey(
                account: AccountID(unchecked: facts[1]),
                source: SourceID(unchecked: fields.source),
                kind: SourceKind(recorded: facts[0])
            ),
            state: state(fields.state)
        )
    }

    static func writing(_ change: DeliveryChange) -> ItemWriting {
        ItemWriting(
            state: text(of: change.state),
            error: change.lastError ?? "",
            event: nil,
            attempt: change.attempt.map(AttemptLine.text)
        )
    }

    /// The state as it is stored; without the empty values at its end.
    static func text(of state: DeliveryState) -> String {
        func ms(_ time: Timestamp?) -> String { time.map { String($0.ms) } ?? "" }
        var parts = [
            String(state.cursor), String(state.failures), String(state.attempts),
            ms(state.retryAt), ms(state.failedSince),
            state.escalated > 0 ? String(state.escalated) : "", list(state.dead),
            list(state.again), state.told ?? "", list(state.owed),
        ]
        while parts.count > 4, parts.last?.isEmpty == true { parts.removeLast() }
        return Packed.join(parts)
    }

    private static func state(_ text: String) -> DeliveryState {
        var parts = Packed.split(text)
        guard parts.count >= 4 else { return DeliveryState() }
        // What an earlier release has written ends before these.
        while parts.count < 10 { parts.append("") }
        return DeliveryState(
            cursor: Int(parts[0]) ?? 0,
            failures: Int(parts[1]) ?? 0,
            attempts: Int(parts[2]) ?? 0,
            retryAt: Int64(parts[3]).map(Timestamp.init(ms:)),
            failedSince: Int64(parts[4]).map(Timestamp.init(ms:)),
            escalated: Int(parts[5]) ?? 0,
            dead: seqs(parts[6]),
            again: seqs(parts[7]),
            told: parts[8].isEmpty ? nil : parts[8],
            owed: seqs(parts[9])
        )
    }

    private static func list(_ seqs: [Int]) -> String {
        seqs.map(String.init).joined(separator: ",")
    }

    private static func seqs(_ text: String) -> [Int] {
        text.split(separator: ",").compactMap { Int($0) }
    }
}

/// An attempt as a line of the log of its delivery.
///
/// *Shape*: `at ms|seq|number|outcome|class|code|phases|event|address|reason|excerpt`, the phases in ms
/// with commas between, what is unknown left empty; a success ends with its address. About 80 bytes
/// for a success, up to 1.3 KB for a failure.
enum AttemptLine {
    private static let outcomes: [AttemptResult.Outcome: String] = [
        .delivered: "d", .failed: "f", .rejected: "r",
    ]

    static func text(_ attempt: AttemptRecord) -> String {
        let phases = [
            attempt.phases.resolveMs, attempt.phases.connectMs, attempt.phases.firstByteMs,
            attempt.phases.totalMs,
        ]
        var parts = [
            String(attempt.at.ms), String(attempt.seq), String(attempt.number),
            outcomes[attempt.outcome] ?? "", attempt.kind.rawValue,
            attempt.code.map(String.init) ?? "",
            phases.map { $0.map(String.init) ?? "" }.joined(separator: ","),
            attempt.event.description, attempt.address ?? "",
        ]
        if !attempt.reason.isEmpty || !attempt.excerpt.isEmpty {
            parts.append(attempt.reason.replacing("|", with: "/"))
            parts.append(attempt.excerpt)
        }
        return Packed.join(parts)
    }

    /// Reads a line; nil when it is none.
    static func attempt(_ line: String) -> AttemptRecord? {
        let parts = line.split(
            separator: "|",
            maxSplits: 10,
            omittingEmptySubsequences: false
        ).map(String.init)
        guard parts.count >= 9, let ms = Int64(parts[0]), let seq = Int(parts[1]),
            let number = Int(parts[2]),
            let outcome = outcomes.first(where: { $0.value == parts[3] })?.key,
            let kind = AttemptClass(rawValue: parts[4])
        else { return nil }
        let phases = parts[6].split(separator: ",", omittingEmptySubsequences: false)
            .map { Int($0) }
        func phase(_ index: Int) -> Int? { index < phases.count ? phases[index] : nil }
        return AttemptRecord(
            at: Timestamp(ms: ms),
            event: EventID(unchecked: parts[7]),
            seq: seq,
            number: number,
            outcome: outcome,
            kind: kind,
            code: Int(parts[5]),
            address: parts[8].isEmpty ? nil : parts[8],
            phases: AttemptPhases(
                resolveMs: phase(0),
                connectMs: phase(1),
                firstByteMs: phase(2),
                totalMs: phase(3)
            ),
            reason: parts.count > 9 ? parts[9] : "",
            excerpt: parts.count > 10 ? parts[10] : ""
        )
    }
}
