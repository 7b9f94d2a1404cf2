package import JSONText
package import Poller
package import PollerIdentity

/// Every upstream of a process, each watch asked where its kind belongs.
package struct Upstreams: Upstream {
    private let stripe: StripeUpstream
    private let http: HTTPUpstream

    /// Stripe for its own kinds, `http` for the rest.
    package init(stripe: StripeUpstream, http: HTTPUpstream) {
        self.stripe = stripe
        self.http = http
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        switch watch.key.kind {
        case .source, .paymentIntent, .setupIntent, .charge:
            await stripe.poll(watch, timeout: timeout)
        case .http: await http.poll(watch, timeout: timeout)
        case .other(let name): .unserved("this release does not know the kind \(name)")
        }
    }
}

extension Upstreams: PaymentReader {
    package func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts? {
        if key.kind == .http { return http.facts(of: key, in: object, seenAt: seenAt) }
        return stripe.payments.facts(
            of: key,
            in: object,
            charge: charge,
            lists: lists,
            seenAt: seenAt
        )
    }
}

/// Reads payments from Stripe's objects.
package struct StripePayments: PaymentReader {
    private let expiry: SourceExpiry

    /// Makes a reader; `expiry` says when Stripe ends a source by itself.
    package init(expiry: SourceExpiry = .documented) {
        self.expiry = expiry
    }

    package func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts? {
        guard key.kind.isOfPayments else { return nil }
        var facts = PaymentFacts(
            key.kind,
            object: object,
            charge: charge,
            refunds: lists.refunds,
            seenAt: seenAt
        )
        facts.sourceLife = expiry.changed(facts.method)
        if let listed = lists.disputes?.member("data")?.elements {
            facts.charge = facts.charge?.disputed(by: listed)
        }
        return facts
    }
}

/// What a response says its body is.
enum ContentType {
    /// Why a body with such headers is not the JSON that was requested; nil when it may be.
    static func objection(to type: String?, encodedAs encoding: String?) -> String? {
        guard isJSON(type) else { return "the content type is not JSON" }
        // Requests accept no encoding: it is the work of something between us and the upstream.
        guard let encoding, encoding.lowercased() != "identity" else { return nil }
        return "the body is encoded as \(encoding.prefix(20)), which was not asked for"
    }

    /// Whether a body claims to be JSON; a missing header is no claim to the contrary.
    static func isJSON(_ header: String?) -> Bool {
        guard let header else { return true }
        let type = header.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
