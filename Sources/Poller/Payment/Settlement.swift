import JSONText
import PollerIdentity
package import PollerWatches

/// Whether a consumed source has been paid, or its bank may still refuse.
///
/// | payment method | a charge of it is answered | `consumed` means |
/// |---|---|---|
/// | alipay, bancontact, eps, giropay, ideal, multibanco, p24, wechat | at once | paid |
/// | sofort | after 2 business days, at most 14 days | pending |
/// | sepa_debit | after up to 14 business days | pending |
/// | three_d_secure | at once, but it may be a hold | pending |
/// | klarna, ach_debit, acss_debit, au_becs_debit, any other | perhaps later | pending |
///
/// Only for single-use sources `consumed` means settled: a reusable one is also consumed when it is detached from its
/// customer without a payment. Unknown methods count as delayed: a late confirmation is better than a wrong one.
/// *Source*: the page of each method below <https://docs.stripe.com/sources>, and
/// <https://docs.stripe.com/sources/best-practices>: an order is paid on `charge.succeeded`.
package enum Settlement: Hashable, Sendable {
    case atOnce
    case delayed

    private static let methodsAtOnce: Set<String> = [
        "alipay", "bancontact", "eps", "giropay", "ideal", "multibanco", "p24", "wechat",
    ]

    /// Creates the settlement of a payment method; `usage` is that of the source.
    package init(method: String?, usage: String?) {
        let isSingleUse = usage?.lowercased() == "single_use"
        let isKnown = method.map { Self.methodsAtOnce.contains($0.lowercased()) } ?? false
        self = isSingleUse && isKnown ? .atOnce : .delayed
    }

    /// Creates the settlement of the source in an event; delayed without a source.
    package init(of event: Event?) {
        let isAboutSource = event?.type.hasPrefix("\(SourceKind.source.rawValue).") ?? false
        let json = isAboutSource ? event?.json : nil
        let object = json.flatMap { RawJSON(unchecked: $0).member("object") }
        // Without these two fields, or without an object, nothing is concluded.
        self.init(
            method: object?.member("type")?.string,
            usage: object?.member("usage")?.string
        )
    }
}
