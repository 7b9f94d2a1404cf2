package import JSONText
package import Poller
package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// All upstreams of a process; each watch is polled at the upstream of its kind.
package struct Upstreams: Upstream {
    private let stripe: StripeUpstream
    private let http: HTTPUpstream

    /// Creates the upstreams: `stripe` polls its own kinds, `http` polls the kind `http`.
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

/// Reads payments from Stripe objects.
package struct StripePayments: PaymentReader {
    private let expiry: SourceExpiry

    /// Creates a reader; `expiry` defines when Stripe expires a source.
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

/// Checks the declared type of a response body.
enum ContentType {
    /// Returns the reason why a body with these headers is not the requested JSON, or `nil` if it may be.
    static func objection(to type: String?, encodedAs encoding: String?) -> String? {
        guard isJSON(type) else { return "the content type is not JSON" }
        // Requests accept no encoding, so only an intermediary can have encoded the body.
        guard let encoding, encoding.lowercased() != "identity" else { return nil }
        return "the body is encoded as \(encoding.prefix(20)), which was not asked for"
    }

    /// Whether the header declares JSON; a missing header counts as JSON.
    static func isJSON(_ header: String?) -> Bool {
        guard let header else { return true }
        // Stripe's own spelling. Comparing it is cheaper than the copy in lower case below.
        if header == "application/json" { return true }
        let type = header.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
