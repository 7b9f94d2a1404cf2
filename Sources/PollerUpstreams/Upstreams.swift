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
