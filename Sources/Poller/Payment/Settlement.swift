import JSONText
import PollerIdentity

/// Whether a source that is consumed has been paid, or its bank may still say no.
///
/// | payment method | a charge of it is answered | `consumed` means |
/// |---|---|---|
/// | alipay, bancontact, eps, giropay, ideal, multibanco, p24, wechat | at once | paid |
/// | sofort | after 2 business days, at most 14 days | on its way |
/// | sepa_debit | after up to 14 business days | on its way |
/// | three_d_secure | at once, but it may be a hold | on its way |
/// | klarna, ach_debit, acss_debit, au_becs_debit, any other | perhaps later | on its way |
///
/// Only single-use sources settle by being consumed: a reusable one is consumed as well when it is
/// detached from its customer, and nobody has paid. What is not known counts as delayed: a payer
/// is told a day late that the money has arrived rather than once that it has when it has not.
/// *Source*: the page of each method below <https://docs.stripe.com/sources>, and
/// <https://docs.stripe.com/sources/best-practices>: an order is paid on `charge.succeeded`.
package enum Settlement: Hashable, Sendable {
    case atOnce
    case delayed

    private static let methodsAtOnce: Set<String> = [
        "alipay", "bancontact", "eps", "giropay", "ideal", "multibanco", "p24", "wechat",
    ]

    /// How a payment method settles; `usage` is a source's own.
    package init(method: String?, usage: String?) {
        let isSingleUse = usage?.lowercased() == "single_use"
        let isKnown = method.map { Self.methodsAtOnce.contains($0.lowercased()) } ?? false
        self = isSingleUse && isKnown ? .atOnce : .delayed
    }

    /// How the source that an event shows settles; delayed when it shows none.
    package init(of event: Event?) {
        let isAboutSource = event?.type.hasPrefix("\(SourceKind.source.rawValue).") ?? false
        let json = isAboutSource ? event?.json : nil
        let object = json.flatMap { RawJSON(unchecked: $0).member("object") }
        // From an object without these two, or without an object, nothing is concluded.
        self.init(
            method: object?.member("type")?.string,
            usage: object?.member("usage")?.string
        )
    }
}
