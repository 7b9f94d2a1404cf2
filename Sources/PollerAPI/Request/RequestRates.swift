import PollerIdentity
import PollerNet
import SafeNumbers
import Synchronization

/// The request rates per key and per address, and the maximum number of waiting requests per key, at one process.
///
/// The defaults do not affect ordinary services. By default one key may send 1,000 requests a second and hold half of
/// the long-poll slots. A process handles some thousands of requests per second. A batch of 10,000 watches counts as
/// one request.
package struct RequestLimits: Hashable, Sendable {
    /// The default limits.
    package static let standard = RequestLimits(perKey: 1000, perAddress: nil, waitsPerKey: 2048)
    /// The default per address.
    ///
    /// Loopback has no default limit, since it is mostly a proxy for all clients.
    package static let perAddressStandard = 2000

    /// Requests per second per key; 0 for no limit.
    package let perKey: Int
    /// Requests per second per address; 0 for no limit, `nil` for the default of remote addresses.
    package let perAddress: Int?
    /// Concurrent long polls of a key; 0 for no limit except the total.
    package let waitsPerKey: Int

    /// Creates the limits of a process.
    package init(perKey: Int, perAddress: Int?, waitsPerKey: Int) {
        self.perKey = perKey
        self.perAddress = perAddress
        self.waitsPerKey = waitsPerKey
    }
}

/// Counts requests by key and by address, each in a separate bucket (GCRA).
///
/// A burst of twice the rate is allowed. Counts are per process, so *n* API processes allow *n* times as many requests.
/// A count in the store would cost each request as much as the request itself.
final class RequestRates: Sendable {
    /// The maximum number of known keys and addresses, about 100 bytes each.
    ///
    /// At the limit, idle ones are dropped. If none is idle, new ones are admitted: buckets do not help against a flood
    /// from many addresses.
    private static let countMax = 50_000
    /// The number of examined records that count as one request.
    ///
    /// Two thousand records take Redis 50 ms, as much as a hundred requests.
    private static let recordsOfRequest = 20
    /// The allowed burst, as the time it takes at the rate.
    private static let burst = Duration.seconds(2)

    private let limits: RequestLimits
    private let elapsed: @Sendable () -> Duration
    /// The theoretical arrival time of each caller's last request.
    private let arrivals = Mutex<[String: Duration]>([:])

    init(_ limits: RequestLimits, clock: any Clock<Duration>) {
        self.limits = limits
        elapsed = clock.stopwatch()
    }

    func admit(key name: String) throws(Problem) {
        try admit("key \(name)", limits.perKey, "this key", "POLLER_REQUESTS_PER_KEY")
    }

    /// Charges the additional cost of a request, by the records it examined.
    ///
    /// The request itself is never rejected, since it is done. The next requests of the key are delayed by the cost.
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

    func admit(address: IPAddress?) throws(Problem) {
        // A connection without an address uses a Unix socket, which only the local machine can reach.
        guard let address else { return }
        let rate = limits.perAddress ?? (address.isLoopback ? 0 : RequestLimits.perAddressStandard)
        // Without a limit the name of the holder, which is text, is not needed.
        guard rate > 0 else { return }
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
            "More than \(rate) requests per second with \(whose); send several watches "
                + "in one batch, try again later, or raise \(option).",
            retryAfterSeconds: max(1, Int(clamping: wait.ms.addingSaturating(999) / 1000))
        )
    }
}
