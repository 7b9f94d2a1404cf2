package import PollerIdentity
import PollerPayments

/// The time after which Stripe expires a source that keeps its status, by payment method.
///
/// ``MethodTraits`` has the documented times. None is documented for eps, three_d_secure, klarna and unknown methods.
/// For these only the watch's deadline applies: closing too early would lose a payment, and polling too long costs
/// only a few reads. An operator adds or changes entries with `source_expiry`. Reusable sources do not expire.
package struct SourceExpiry: Hashable, Sendable {
    /// The operator's changes, by method.
    private var changes: [String: SourceLifetime] = [:]

    /// The times that Stripe documents.
    package static let documented = SourceExpiry()

    private init() {}

    /// Creates the documented times with an operator's changes.
    ///
    /// *Shape*: `eps=1h/6h,klarna=2d/6h`: the lifetimes while pending and while chargeable; `-` means no end.
    package init(changes text: String) throws(InvalidInput) {
        for entry in text.split(separator: ",") {
            let sides = entry.filter { $0 != " " }.split(separator: "=")
            let spans = sides.count == 2 ? sides.last?.split(separator: "/") ?? [] : []
            guard spans.count == 2, let pending = spans.first, let chargeable = spans.last,
                let name = sides.first, let method = PaymentMethod(String(name))
            else { throw Self.invalid(entry) }
            changes[method.name] = SourceLifetime(
                pending: try Self.span(pending, entry),
                chargeable: try Self.span(chargeable, entry),
                endsWithDayInChina: method.traits.sourceLifetime.endsWithDayInChina
            )
        }
    }

    /// Returns the operator's lifetime for a method, or `nil` if the documented one applies.
    func changed(_ method: PaymentMethod?) -> SourceLifetime? {
        changes.isEmpty ? nil : method.flatMap { changes[$0.name] }
    }

    /// Returns the latest instant at which an object keeps its status, or `nil` if it does not expire.
    func expiresAt(_ facts: ObjectFacts, of kind: SourceKind, now: Timestamp) -> Timestamp? {
        guard kind == .source, facts.usage?.lowercased() != "reusable",
            let method = PaymentMethod(facts.type), let status = facts.status?.lowercased(),
            let seconds = facts.created, seconds >= 0,
            let created = Timestamp(unixSeconds: seconds)
        else { return nil }
        return (changed(method) ?? method.traits.sourceLifetime).end(
            of: PollerPayments.SourceStatus(unchecked: status),
            created: created,
            now: now
        )
    }

    private static func span(
        _ text: Substring,
        _ entry: Substring
    ) throws(InvalidInput) -> Duration? {
        if text == "-" { return nil }
        guard let span = Duration(text: String(text)), span > .zero, span <= .seconds(90 * 86_400)
        else { throw invalid(entry) }
        return span
    }

    private static func invalid(_ entry: Substring) -> InvalidInput {
        InvalidInput(
            "source_expiry",
            "\(entry.prefix(64)) is not a valid entry: write type=pending/chargeable, "
                + "such as eps=1h/6h"
        )
    }
}
