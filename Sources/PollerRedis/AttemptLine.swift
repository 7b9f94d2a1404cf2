import Poller

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
