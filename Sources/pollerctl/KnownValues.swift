import ArgumentParser
import PollerWire
import StripeAPI

/// Words that users type and the server is known to say: statuses and types of events.
///
/// Another release of the server, or Stripe, may say more of them. So only what is nearly a known
/// word is refused, as the typing mistake it is; other unknown words pass with a warning. What a
/// configured upstream says (`http`) is known to its operator alone.
enum KnownValues {
    /// The statuses of a kind of object; empty when they may be anything.
    private static func statuses(of kind: String) -> Set<String> {
        switch Kind(rawValue: kind) {
        case .source: StripeAPI.SourceStatus.known
        case .paymentIntent: PaymentIntentStatus.known
        case .setupIntent: SetupIntentStatus.known
        case .charge: ChargeStatus.known
        case .http, nil: []
        }
    }

    /// What may follow the dot of a type of event; empty when that may be anything.
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

    /// Refuses a status that a source will hardly ever have.
    ///
    /// `kind`: as the server calls it.
    static func check(status: String, of kind: String, option: String) throws {
        try check(status, among: statuses(of: kind), prefix: "", "\(option) takes a status")
    }

    /// Refuses types of events that hardly any event will ever have.
    static func check(types: [String]) throws {
        for type in types where !type.hasSuffix(".*") {
            let parts = type.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            let known = Self.types(of: parts[0])
            try check(parts[1], among: known, prefix: parts[0] + ".", "--types takes event types")
        }
    }

    /// What to say of a list that is empty for its status; nil when the status is known.
    static func advice(onStatus status: String) -> String? {
        let all = Set(Kind.allCases.flatMap { statuses(of: $0.rawValue) })
        guard !all.contains(status.lowercased()) else { return nil }
        let guess = suggestion(for: status.lowercased(), among: all).map { ", did you mean \($0)?" }
        return "no watch has the status \(status)\(guess ?? "")\nKnown are "
            + all.sorted().joined(separator: ", ") + "."
    }

    /// The known word that a mistaken one was meant to be; nil when there is none near.
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
        Terminal.printError("warning: nothing is known to be \(prefix)\(word)\nKnown are \(all).")
    }
}
