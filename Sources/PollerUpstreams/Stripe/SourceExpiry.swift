import Poller
package import PollerIdentity

/// When Stripe itself cancels a source that keeps its status, by payment method.
///
/// ``MethodTraits`` has what is documented. For eps, three_d_secure and klarna nothing is, and of methods
/// nobody has heard of nothing is known: without an entry the watch's own deadline holds, since closing too
/// early would lose a payment and looking too long costs a few reads. An operator adds entries by
/// `source_expiry`, or changes those there are; reusable sources do not end.
package struct SourceExpiry: Hashable, Sendable {
    /// What an operator says otherwise, by method.
    private var changes: [String: SourceLife] = [:]

    /// What Stripe documents.
    package static let documented = SourceExpiry()

    private init() {}

    /// What is documented, with an operator's changes.
    ///
    /// *Shape*: `eps=1h/6h,klarna=2d/6h`: what pending and chargeable live; `-` for no end.
    package init(changes text: String) throws(InvalidInput) {
        for entry in text.split(separator: ",") {
            let sides = entry.filter { $0 != " " }.split(separator: "=")
            let spans = sides.count == 2 ? sides.last?.split(separator: "/") ?? [] : []
            guard spans.count == 2, let pending = spans.first, let chargeable = spans.last,
                let name = sides.first, let method = PaymentMethod(String(name))
            else { throw Self.invalid(entry) }
            changes[method.name] = SourceLife(
                pending: try Self.span(pending, entry),
                chargeable: try Self.span(chargeable, entry),
                endsWithDayInChina: method.traits.sourceLife.endsWithDayInChina
            )
        }
    }

    /// What an operator says of a method; nil where what is documented holds.
    func changed(_ method: PaymentMethod?) -> SourceLife? {
        changes.isEmpty ? nil : method.flatMap { changes[$0.name] }
    }

    /// The latest instant at which an object keeps its status; nil when there is none.
    func expiresAt(_ facts: ObjectFacts, of kind: SourceKind, now: Timestamp) -> Timestamp? {
        guard kind == .source, facts.usage?.lowercased() != "reusable",
            let method = PaymentMethod(facts.type), let status = facts.status?.lowercased(),
            let seconds = facts.created, seconds >= 0,
            let created = Timestamp(unixSeconds: seconds)
        else { return nil }
        return (changed(method) ?? method.traits.sourceLife).end(
            of: Poller.SourceStatus(unchecked: status),
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
            field: "source_expiry",
            message: "\(entry.prefix(64)) is no entry: write type=pending/chargeable as eps=1h/6h"
        )
    }
}
