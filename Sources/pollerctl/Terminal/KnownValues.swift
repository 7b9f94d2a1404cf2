import ArgumentParser
import PollerWire
import StripeAPI

/// Statuses and event types that this release knows, to catch typing mistakes.
///
/// A newer server, or Stripe, may have more. So a value close to a known one is rejected as a typing
/// mistake, and any other unknown value passes with a warning. The statuses of configured upstreams
/// (`http`) are not checked.
enum KnownValues {
    /// The statuses of a kind of object; empty if any status is allowed.
    private static func statuses(of kind: String) -> Set<String> {
        switch Kind(rawValue: kind) {
        case .source: StripeAPI.SourceStatus.known
        case .paymentIntent: PaymentIntentStatus.known
        case .setupIntent: SetupIntentStatus.known
        case .charge: ChargeStatus.known
        case .http, nil: []
        }
    }

    /// The allowed suffixes of an event type; empty if any suffix is allowed.
    private static func types(of family: String) -> Set<String> {
        let payments = Payment.State.allCases.map(\.rawValue)
        return switch family {
        case "payment": Set(payments)
        case "order": Set(payments + ["paid_twice"])
        case "watch": ["expired", "cancelled", "gone", "dead"]
        case "next_step": ["changed"]
        case "mandate": ["notification"]
        case "operator": Set(Incident.Kind.allCases.map(\.rawValue))
        default: statuses(of: family)
        }
    }

    /// Throws `ValidationError` for a status close to a known one.
    ///
    /// `kind` is the server's name of the kind.
    static func check(status: String, of kind: String, option: String) throws {
        try check(status, among: statuses(of: kind), prefix: "", "\(option) takes a status")
    }

    /// Throws `ValidationError` for event types close to a known one.
    static func check(types: [String]) throws {
        for type in types where !type.hasSuffix(".*") {
            let parts = type.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let known = Self.types(of: parts[0])
            try check(parts[1], among: known, prefix: parts[0] + ".", "--types takes event types")
        }
    }

    /// The message for an empty list with an unknown status; `nil` if the status is known.
    static func advice(onStatus status: String) -> String? {
        let all = Set(Kind.allCases.flatMap { statuses(of: $0.rawValue) })
        guard !all.contains(status.lowercased()) else { return nil }
        let guess = suggestion(for: status.lowercased(), among: all).map { ", did you mean \($0)?" }
        return "no watch has the status \(status)\(guess ?? "")\nKnown statuses: "
            + all.sorted().joined(separator: ", ") + "."
    }

    /// The nearest known value; `nil` if none is close.
    static func suggestion(for word: String, among known: some Collection<String>) -> String? {
        Spelling.nearest(to: word, among: known.sorted())
    }

    private static func check(
        _ word: String,
        among known: Set<String>,
        prefix: String,
        _ rule: String
    ) throws {
        guard !known.isEmpty, !known.contains(word) else { return }
        if let meant = suggestion(for: word, among: known) {
            throw ValidationError("\(rule), not \(prefix)\(word); did you mean \(prefix)\(meant)?")
        }
        let all = known.sorted().map { prefix + $0 }.joined(separator: ", ")
        Terminal.printError("warning: unknown value \(prefix)\(word)\nKnown values: \(all).")
    }
}
