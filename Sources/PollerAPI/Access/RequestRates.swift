import Poller
import PollerIdentity
import PollerNet
import SafeNumbers
import Synchronization

/// How many requests a second one key and one address may make at one process, and how many of a key may
/// wait there.
///
/// Defaults that no honest service meets: a process answers some thousands a second, so one key may have
/// a part of it and never all, and half of the places to wait in. A batch of 10,000 watches is one request.
package struct RequestLimits: Hashable, Sendable {
    /// What holds where nobody says otherwise.
    package static let standard = RequestLimits(perKey: 1000, perAddress: nil, waitsPerKey: 2048)
    /// Of an address where nobody says otherwise; one on this machine, which is mostly a proxy that
    /// speaks for everybody, has none then.
    package static let perAddressStandard = 2000

    /// 0 for no limit.
    package let perKey: Int
    /// 0 for no limit; nil for the standard of addresses elsewhere.
    package let perAddress: Int?
    /// Long polls of a key at once; 0 for no limit but that of all.
    package let waitsPerKey: Int

    /// Limits of a process.
    package init(perKey: Int, perAddress: Int?, waitsPerKey: Int) {
        self.perKey = perKey
        self.perAddress = perAddress
        self.waitsPerKey = waitsPerKey
    }
}

/// Counts requests by key and by address, each in a bucket of its own (GCRA): twice the rate may come
/// at once, then they come at the rate.
///
/// In this process alone: *n* processes of the API let *n* times as many through. A count in the store
/// would cost each request as much as the request. A class, because all requests share it.
final class RequestRates: Sendable {
    /// Who may be known at once, some 100 bytes each; beyond it those that are idle are forgotten, and
    /// when none is, whoever is new is let through: a flood from many addresses is no matter of buckets.
    private static let countMax = 50_000
    /// Records that cost as much as a request: the fifty milliseconds of Redis that two thousand take are
    /// those of a hundred requests.
    private static let recordsOfRequest = 20
    /// What may come at once, as the time in which it would come at the rate.
    private static let burst = Duration.seconds(2)

    private let limits: RequestLimits
    private let elapsed: @Sendable () -> Duration
    /// When the last request of each would have been due, had they come at the rate.
    private let arrivals = Mutex<[String: Duration]>([:])

    init(_ limits: RequestLimits, clock: any Clock<Duration>) {
        self.limits = limits
        elapsed = clock.stopwatch()
    }

    /// Takes a request of a key in, or refuses it.
    func admit(key name: String) throws(Problem) {
        try admit("key \(name)", limits.perKey, "this key", "POLLER_REQUESTS_PER_KEY")
    }

    /// Counts what a request has cost beyond itself: records that were looked at for it.
    ///
    /// It is never refused, because it was done; the next ones of the key come so much later.
    func charge(key name: String, records: Int) {
        guard limits.perKey > 0, records >= Self.recordsOfRequest else { return }
        let span = Duration.seconds(1) / limits.perKey * (records / Self.recordsOfRequest)
        let now = elapsed()
        arrivals.withLock { arrivals in
            let name = "key \(name)"
            guard let due = arrivals[name] else { return }
            arrivals[name] = max(due, now) + span
        }
    }

    /// Takes a request of an address in, or refuses it.
    func admit(address: IPAddress?) throws(Problem) {
        // Without an address it is a Unix socket, which only this machine has.
        guard let address else { return }
        let rate = limits.perAddress ?? (address.isLoopback ? 0 : RequestLimits.perAddressStandard)
        let holder = PerAddressLimit.holder(of: address)
        try admit(holder, rate, "this address", "POLLER_REQUESTS_PER_ADDRESS")
    }

    private func admit(
        _ name: String,
        _ rate: Int,
        _ whose: String,
        _ option: String
    ) throws(Problem) {
        guard rate > 0 else { return }
        let step = Duration.seconds(1) / rate
        let now = elapsed()
        let wait: Duration = arrivals.withLock { arrivals in
            let due = max(arrivals[name] ?? now, now)
            if due - now > Self.burst { return due - now - Self.burst }
            if arrivals.count >= Self.countMax, arrivals[name] == nil {
                arrivals = arrivals.filter { $0.value > now }
                guard arrivals.count < Self.countMax else { return .zero }
            }
            arrivals[name] = due + step
            return .zero
        }
        guard wait > .zero else { return }
        throw Problem(
            .tooManyRequests,
            "More than \(rate) requests a second with \(whose); send several watches in one batch, "
                + "ask again later, or have \(option) raised.",
            retryAfterSeconds: max(1, Int(clamping: wait.ms.addingSaturating(999) / 1000))
        )
    }
}
