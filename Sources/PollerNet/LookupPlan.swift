import Poller

/// Which names are looked up now, which wait, and what is remembered: the decisions of a
/// ``SystemResolver``, without its threads.
///
/// Customers choose the names, and a name server that never answers holds a thread for as long as
/// `getaddrinfo` waits, 10 s and more. So a name is looked up once for all who ask, and what lies
/// below one domain has a share of the threads: two such servers take a quarter of them.
/// *Who waits*: a name stands in one queue, that of the first full domain it is in the way of, else
/// the common one; a lookup that ends lets the next of its domains try. Whoever no longer wants an
/// answer leaves, and a name that nobody wants is skipped. No more names wait than attempts and
/// polls are in flight, each for 5 s.
struct LookupPlan<Instant: InstantProtocol> where Instant.Duration == Duration {
    /// A domain and how many names below it may be looked up at once.
    ///
    /// `a.shop.example.co.uk` is in `co.uk` and `example.co.uk`. Where domains can be registered we
    /// do not know; with half as much for the narrower one, a bad one does not fill `co.uk`.
    private struct Domain {
        let name: String
        let lookupsMax: Int
    }

    /// A name that is wanted: who waits for it, and whether it is looked up now.
    private struct Lookup {
        let domains: [Domain]
        var callers: Set<Int> = []
        var isRunning = false
        /// Tells it from an earlier one of the same name, which may still stand in a queue.
        let number: Int
    }

    /// A place in the queue of a domain.
    private struct QueueEntry {
        let name: String
        let number: Int
    }

    /// An answer that is remembered until its end.
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

    /// Asks for a name: what is remembered of it, or nil, and the caller is told by ``finish(_:_:at:)``.
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

    /// A caller wants no answer any more.
    mutating func cancel(_ name: String, caller: Int) {
        lookups[name]?.callers.remove(caller)
        if let lookup = lookups[name], lookup.callers.isEmpty, !lookup.isRunning {
            lookups[name] = nil
        }
    }

    /// The names to look up now, each on a thread of its own.
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

    /// Remembers what a lookup has found; returns the callers to be told.
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
        // Full of what still holds: names are looked up faster than they are forgotten.
        guard cache.count < LookupLimits.cachedMax else { return }
        cache[name] = CachedAnswer(
            answer: answer,
            expiry: now.advanced(by: LookupLimits.lifetime(of: answer))
        )
    }

    /// The last two labels of a name, and its last three.
    private static func domains(of name: String) -> [Domain] {
        let labels = name.split(separator: ".")
        let shares = [(2, LookupLimits.domainMax), (3, LookupLimits.domainMax / 2)]
        return shares.compactMap { count, most in
            guard labels.count >= count else { return nil }
            return Domain(name: labels.suffix(count).joined(separator: "."), lookupsMax: most)
        }
    }
}

/// The figures of a ``LookupPlan``.
enum LookupLimits {
    /// Threads that only wait cost little; all at once would be too many for many a name server.
    static let threadsMax = 32
    /// Lookups at once below one domain: at the usual 20 ms each they are 200 names a second.
    static let domainMax = 4
    /// Some 200 bytes each; a process talks to fewer hosts within the spans below.
    static let cachedMax = 4096

    /// How long an answer holds, for `getaddrinfo` tells no TTL.
    ///
    /// Addresses: 3 s, which a burst of events at one endpoint shares, and less than the first wait
    /// of the usual schedule (5 s, a fifth less by its jitter), so that each attempt has looked anew.
    /// Failures: 1 s, the shortest wait of any schedule and of a poll.
    static func lifetime(of answer: LookupAnswer) -> Duration {
        switch answer {
        case .success: .seconds(3)
        case .failure: .seconds(1)
        }
    }
}
