/// The scheduling of name lookups and the cache of their answers: the decisions of a
/// ``SystemResolver``, without its threads.
///
/// Customers choose the names, and a name server that never responds blocks a thread for as long as
/// `getaddrinfo` waits, 10 s and more. A name is therefore looked up once for all its callers, and
/// the names below one domain get a limited share of the threads: two such servers take a quarter
/// of them. *Queues*: a waiting name is in one queue, that of its first full domain, or else the
/// common one. When a lookup ends, the names waiting for its domains are considered again. A caller
/// may cancel, and a name without callers is skipped. The number of waiting names is bounded by the
/// attempts and polls in flight, each for 5 s.
struct LookupPlan<Instant: InstantProtocol> where Instant.Duration == Duration {
    /// A domain and how many names below it may be looked up at once.
    ///
    /// `a.shop.example.co.uk` is in `co.uk` and `example.co.uk`. It is unknown at which level
    /// domains are registered. The narrower domain gets half as much, so that a bad one does not
    /// fill `co.uk`.
    private struct Domain {
        let name: String
        let lookupsMax: Int
    }

    /// A requested name: its waiting callers, and whether its lookup is running.
    private struct Lookup {
        let domains: [Domain]
        var callers: Set<Int> = []
        var isRunning = false
        /// Distinguishes it from an earlier lookup of the same name that may still be in a queue.
        let number: Int
    }

    /// An entry in the queue of a domain.
    private struct QueueEntry {
        let name: String
        let number: Int
    }

    /// A cached answer with its expiry.
    private struct CachedAnswer {
        let answer: LookupAnswer
        let expiry: Instant
    }

    private var lookups: [String: Lookup] = [:]
    private var ready: [QueueEntry] = []
    private var waiting: [String: [QueueEntry]] = [:]
    private var runningByDomain: [String: Int] = [:]
    private var running = 0
    private var cache: [String: CachedAnswer] = [:]
    private var numbers = 0

    /// Requests a name.
    ///
    /// Returns a cached answer, or `nil` if ``finish(_:_:at:)`` will return the caller.
    mutating func lookUp(_ name: String, caller: Int, at now: Instant) -> LookupAnswer? {
        if let known = cache[name], now < known.expiry { return known.answer }
        if lookups[name] == nil {
            numbers += 1
            lookups[name] = Lookup(domains: Self.domains(of: name), number: numbers)
            ready.append(QueueEntry(name: name, number: numbers))
        }
        lookups[name]?.callers.insert(caller)
        return nil
    }

    /// Cancels the request of a caller.
    mutating func cancel(_ name: String, caller: Int) {
        lookups[name]?.callers.remove(caller)
        if let lookup = lookups[name], lookup.callers.isEmpty, !lookup.isRunning {
            lookups[name] = nil
        }
    }

    /// Returns the names to look up now, each on a separate thread.
    mutating func start() -> [String] {
        var started: [String] = []
        var entries = ready[...]
        while running < LookupLimits.threadsMax, let entry = entries.popFirst() {
            guard let lookup = lookups[entry.name], lookup.number == entry.number else { continue }
            if let full = lookup.domains.first(where: isFull) {
                waiting[full.name, default: []].append(entry)
                continue
            }
            lookups[entry.name]?.isRunning = true
            running += 1
            for domain in lookup.domains { runningByDomain[domain.name, default: 0] += 1 }
            started.append(entry.name)
        }
        ready = Array(entries)
        return started
    }

    /// Caches the answer of a lookup and returns the callers that wait for it.
    mutating func finish(_ name: String, _ answer: LookupAnswer, at now: Instant) -> Set<Int> {
        guard let lookup = lookups.removeValue(forKey: name) else { return [] }
        running -= 1
        for domain in lookup.domains {
            let rest = runningByDomain[domain.name, default: 0] - 1
            runningByDomain[domain.name] = rest > 0 ? rest : nil
            // All of them: some may belong to another full domain, or have no caller left.
            ready.insert(contentsOf: waiting.removeValue(forKey: domain.name) ?? [], at: 0)
        }
        store(name, answer, now)
        return lookup.callers
    }

    private func isFull(_ domain: Domain) -> Bool {
        runningByDomain[domain.name, default: 0] >= domain.lookupsMax
    }

    private mutating func store(_ name: String, _ answer: LookupAnswer, _ now: Instant) {
        if cache.count >= LookupLimits.cachedMax {
            cache = cache.filter { now < $0.value.expiry }
        }
        // The cache is full of valid answers: names are looked up faster than they expire.
        guard cache.count < LookupLimits.cachedMax else { return }
        cache[name] = CachedAnswer(
            answer: answer,
            expiry: now.advanced(by: LookupLimits.lifetime(of: answer))
        )
    }

    /// Returns the last two labels of a name, and its last three.
    private static func domains(of name: String) -> [Domain] {
        let labels = name.split(separator: ".")
        let shares = [(2, LookupLimits.domainMax), (3, LookupLimits.domainMax / 2)]
        return shares.compactMap { count, most in
            guard labels.count >= count else { return nil }
            return Domain(name: labels.suffix(count).joined(separator: "."), lookupsMax: most)
        }
    }
}

enum LookupLimits {
    /// Threads that only wait cost little, but too many lookups at once would overload many name
    /// servers.
    static let threadsMax = 32
    /// Simultaneous lookups below one domain: at the usual 20 ms each they are 200 names a second.
    static let domainMax = 4
    /// Some 200 bytes each; a process contacts fewer hosts within the lifetimes below.
    static let cachedMax = 4096

    /// How long an answer is cached, because `getaddrinfo` returns no TTL.
    ///
    /// Addresses: 3 s, which a burst of events to one endpoint shares. It is less than the first
    /// delay of the usual schedule (5 s, with jitter a fifth less), so that each attempt resolves
    /// again. Failures: 1 s, the shortest delay of any schedule and of a poll.
    static func lifetime(of answer: LookupAnswer) -> Duration {
        switch answer {
        case .success: .seconds(3)
        case .failure: .seconds(1)
        }
    }
}
