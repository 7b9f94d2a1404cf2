/// The measured cost of each unit: the only table that plans use.
///
/// *Bytes* are from Redis' own count (`MEMORY USAGE`) for a payment under Stripe's IDs. `test_costs.py` measures them
/// again and compares a plan with them within a fifth, up to the age that still has deliveries. *Microseconds* are of
/// one core, of release programs on a shared machine of two cores, and depend on the machine as much as on the program:
/// `ops/plan --measure` prints those of your machine, and `ops/plan` the accuracy of a plan there.
package enum PlannedCost: String, Hashable, Sendable, CaseIterable {
    // The bytes of a payment, by the time since its end.
    case openPayment = "open.payment"
    case openName = "open.name"
    case openDelivery = "open.delivery"
    case outboxEvent = "outbox.event"
    case bodyPayment = "bodies.payment"
    case bodyName = "bodies.name"
    case bodyEvent = "bodies.event"
    case bodyDelivery = "bodies.delivery"
    case bodyAttempt = "bodies.attempt"
    case closedPayment = "closed.payment"
    case closedName = "closed.name"
    case closedEvent = "closed.event"
    case closedDelivery = "closed.delivery"
    case refundablePayment = "afterlife.payment"
    // The further memory of Redis.
    case redisEmpty = "redis.empty"
    case redisAllocated = "redis.allocated"
    // The cores of a role: of a running process, of a wake, of each unit.
    case processWakes = "process.wakes"
    case apiUp = "api.up"
    case apiWake = "api.wakes"
    case apiPayment = "api.payments"
    case apiEvent = "api.events"
    case workerUp = "worker.up"
    case workerWake = "worker.wakes"
    case workerPoll = "worker.polls"
    case workerEvent = "worker.events"
    case notifierUp = "notifier.up"
    case notifierWake = "notifier.wakes"
    case notifierEvent = "notifier.events"
    case notifierDelivery = "notifier.deliveries"
    case gatewayUp = "gateway.up"
    case gatewayWake = "gateway.wakes"
    case gatewayEvent = "gateway.events"
    case gatewayFrame = "gateway.frames"
    case gatewayArrival = "gateway.arrivals"
    // The cores of Redis.
    case redisUp = "redis.up"
    case redisWake = "redis.wakes"
    case redisPayment = "redis.payments"
    case redisPoll = "redis.polls"
    case redisEvent = "redis.events"
    case redisDelivery = "redis.deliveries"
    case redisArrival = "redis.arrivals"
    // The utilisation of resources.
    case masterCores = "master.cores"
    case masterHottest = "master.hottest"
    case gatewayListeners = "gateway.listeners"

    /// An entry of the table.
    package struct Entry: Hashable, Sendable, Encodable {
        /// The number of units.
        package let value: Double
        /// The unit.
        package let unit: String
        /// The command that measured it, the basis of an estimate, or the reason of a choice.
        package let source: String
    }

    /// The number of units.
    package var value: Double { entry.value }

    /// The entry of the table.
    package var entry: Entry {
        switch self {
        case .openPayment: .bytes(790)
        case .openName: .bytes(155)
        case .openDelivery: .bytes(730)
        case .outboxEvent: .bytes(32)
        case .bodyPayment: .bytes(568)
        case .bodyName: .bytes(155)
        case .bodyEvent: .bytes(92)
        case .bodyDelivery: .bytes(637)
        case .bodyAttempt: .bytes(64)
        case .closedPayment: .bytes(330)
        case .closedName: .bytes(155)
        case .closedEvent: .bytes(37)
        case .closedDelivery: .bytes(521)
        case .refundablePayment:
            Entry(
                value: 300,
                unit: "bytes",
                source: "estimate: closed.payment, without its compacted log"
            )
        case .redisEmpty: Entry(value: 2.45e6, unit: "bytes", source: "ops/plan")
        case .redisAllocated: Entry(value: 1.13, unit: "of the bytes of keys", source: "ops/plan")
        case .processWakes:
            Entry(value: 120, unit: "a second", source: "ops/plan --measure")
        case .apiUp: .core(3000)
        case .apiWake: .core(1430)
        case .apiPayment: .core(0)
        case .apiEvent: .core(170)
        case .workerUp: .core(3200)
        case .workerWake: .core(435)
        case .workerPoll: .core(52)
        case .workerEvent: .core(570)
        case .notifierUp: .core(4520)
        case .notifierWake: .core(900)
        case .notifierEvent: .core(430)
        case .notifierDelivery: .core(280)
        case .gatewayUp: .core(1450)
        case .gatewayWake: .core(160)
        case .gatewayEvent: .core(45)
        case .gatewayFrame: .core(32)
        case .gatewayArrival: .core(1770)
        case .redisUp: .core(1710)
        case .redisWake: .core(15)
        case .redisPayment: .core(690)
        case .redisPoll: .core(35)
        case .redisEvent: .core(230)
        case .redisDelivery: .core(260)
        case .redisArrival: .core(525)
        case .masterCores:
            .share(0.5, "of one core: the rest is for its file and the hour after a failure")
        case .masterHottest:
            .share(1.3, "times the mean of all masters; more partitions reduce it")
        case .gatewayListeners:
            .share(25_000, "half of a gateway's capacity: other gateways take over when it dies")
        }
    }
}

extension PlannedCost.Entry {
    /// Returns an entry in bytes of keys.
    fileprivate static func bytes(_ value: Double) -> Self {
        Self(value: value, unit: "bytes", source: "pytest -s Tests/EndToEnd/test_costs.py")
    }

    /// Returns an entry in microseconds of a core; for a running process, per second.
    fileprivate static func core(_ value: Double) -> Self {
        Self(value: value, unit: "µs", source: "ops/plan --measure")
    }

    /// Returns an entry that was chosen.
    fileprivate static func share(_ value: Double, _ reason: String) -> Self {
        Self(value: value, unit: "", source: reason)
    }
}

/// The load per second, and its cost for each role.
struct PlannedPace: Hashable, Sendable {
    /// The role that does the work.
    enum Role: Hashable, Sendable {
        case api, worker, notifier, gateway, redis
    }

    let payments: Double
    let polls: Double
    let events: Double
    let deliveries: Double
    let frames: Double
    let arrivals: Double

    /// Returns the cores that this number of processes of a role use; for Redis, which is one, with this number of
    /// processes of the cluster.
    ///
    /// A wake has a cost in addition to each unit. At a low load there is one wake per unit. At a high load several
    /// units share one, so wakes grow with the load only up to ``PlannedCost/processWakes``.
    func cores(_ role: Role, processes: Int) -> Double {
        let count = Double(processes)
        let work = work(role, count)
        let sharing = role == .redis ? 1 : count
        let (each, most) = (work.wokenFor / sharing, PlannedCost.processWakes.value)
        let wakes = sharing * each * most / (each + most)
        let units = work.units.reduce(0) { $0 + $1.0.value * $1.1 }
        return (work.up.value * count + work.wake.value * wakes + units) / 1_000_000
    }

    /// Returns the smallest number of processes that use at most one core each; `nil` if no number is enough.
    ///
    /// The work of one process shrinks with each additional process, but not below the work that they cannot share: the
    /// base cost, and reading every event. So if a number is not enough, no smaller one is, and a binary search finds
    /// the minimum.
    func processes(_ role: Role) -> Int? {
        func areEnough(_ count: Int) -> Bool { cores(role, processes: count) <= Double(count) }
        var (few, enough) = (0, Self.processesMax)
        guard areEnough(enough) else { return nil }
        while enough - few > 1 {
            let middle = (few + enough) / 2
            if areEnough(middle) { enough = middle } else { few = middle }
        }
        return enough
    }

    /// More than any cluster has: if these cannot share the work, no number can.
    private static let processesMax = 1_000_000

    /// The work of a role per second.
    private struct Work {
        let up: PlannedCost
        let wake: PlannedCost
        let wokenFor: Double
        let units: [(PlannedCost, Double)]
    }

    private func work(_ role: Role, _ processes: Double) -> Work {
        // Each process of these roles reads every event.
        let eventReads = events * processes
        return switch role {
        case .api:
            Work(
                up: .apiUp,
                wake: .apiWake,
                wokenFor: payments,
                units: [(.apiPayment, payments), (.apiEvent, eventReads)]
            )
        case .worker:
            Work(
                up: .workerUp,
                wake: .workerWake,
                wokenFor: polls,
                units: [(.workerPoll, polls), (.workerEvent, events)]
            )
        case .notifier:
            Work(
                up: .notifierUp,
                wake: .notifierWake,
                // All recipients of an event are served together.
                wokenFor: min(deliveries, eventReads),
                units: [(.notifierEvent, eventReads), (.notifierDelivery, deliveries)]
            )
        case .gateway:
            Work(
                up: .gatewayUp,
                wake: .gatewayWake,
                wokenFor: eventReads,
                units: [
                    (.gatewayEvent, eventReads), (.gatewayFrame, frames),
                    (.gatewayArrival, arrivals),
                ]
            )
        case .redis:
            Work(
                up: .redisUp,
                wake: .redisWake,
                wokenFor: payments + polls + events + deliveries,
                units: [
                    (.redisPayment, payments), (.redisPoll, polls), (.redisEvent, events),
                    (.redisDelivery, deliveries), (.redisArrival, arrivals),
                ]
            )
        }
    }
}
