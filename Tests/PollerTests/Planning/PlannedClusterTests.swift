import PollerIdentity
import PollerTesting
import Testing

@testable import PollerPlanning
@testable import PollerQueue

@Suite("Planned clusters")
struct PlannedClusterTests {
    /// Plans a cluster for one account's payments per second.
    func plan(
        _ payments: Double,
        life: Duration = .seconds(3600),
        _ change: (inout PlannedLoad) -> Void = { _ in },
        hottest: (Int, Int) -> Double = { _, _ in 1 }
    ) -> PlannedCluster {
        let traffic = PlannedTraffic(
            sourcesPerMonth: Int(payments * PlannedTraffic.month.inSeconds),
            life: life,
            hints: .none,
            lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1000)
        )
        var month = PlannedMonth(traffic, sourcesMax: 500, using: SeededGenerator(seed: 5))
        var load = PlannedLoad()
        change(&load)
        return PlannedCluster(month.run(), load, hottest: hottest)
    }

    @Test(
        "memory is the sum of all ages, and stops growing once the oldest records are deleted"
    )
    func memory() {
        let day = plan(1) { $0.age = .seconds(86_400) }
        let each = day.bytes
        let ages = [each.outbox, each.bodies, each.closed, each.afterlife]
        #expect(zip(ages, ages.dropFirst()).allSatisfy { $0 > $1 }, "\(each)")
        let allocated = PlannedCost.redisAllocated.value
        let open = 1800 * each.open
        let first =
            ((86_400 - 1800) * each.outbox + open) * allocated + PlannedCost.redisEmpty.value
        #expect(abs(day.redisBytes - first) < first / 1000)
        // One day of the outbox, six of bodies, and 27 of closed watches.
        let days = each.outbox + 6 * each.bodies + 27 * each.closed
        let whole = (86_400 * days + open) * allocated + PlannedCost.redisEmpty.value
        #expect(abs(plan(1).redisBytes - whole) < whole / 1000)
        let aged = plan(1) { $0.age = .seconds(400 * 86_400) }
        #expect(abs(aged.redisBytes - plan(1).redisBytes) < whole / 1000)
    }

    @Test("refundable payments are kept for the rest of half a year")
    func refundablePayments() {
        let some = plan(1) { $0.returnable = 50 }
        let more = 146 * 86_400 * some.bytes.afterlife / 2 * PlannedCost.redisAllocated.value
        #expect(abs(some.redisBytes - plan(1).redisBytes - more) < more / 1000)
    }

    @Test("each recipient adds deliveries and bytes, and no polls")
    func receivers() {
        let (one, three) = (plan(10), plan(10) { $0.deliveries = 3 })
        #expect(abs(three.deliveriesPerSecond - 3 * one.deliveriesPerSecond) < 0.001)
        #expect(three.notifier.cores > one.notifier.cores && three.worker == one.worker)
        #expect(three.redisBytes > one.redisBytes && three.redisCores > one.redisCores)
    }

    @Test("no listeners need no gateway, few need two, and many need one more than hold them")
    func gateways() {
        #expect(plan(1).gateway == PlannedCluster.Role(cores: 0, processes: 0))
        #expect(plan(1) { $0.listeners = 10 }.gateway.processes == 2)
        let many = plan(1) { $0.listeners = 100_000 }
        #expect(many.gateway.processes == 5, "\(many.gateway)")
        #expect(many.gateway.cores > 0 && many.framesPerSecond == 5)
        // A listener without events costs only its connection.
        #expect(plan(1) { ($0.listeners, $0.listenersPerEvent) = (10, 0) }.framesPerSecond == 0)
    }

    @Test(
        "a role has enough processes to lose one without exceeding a core each, and no more than needed",
        arguments: [1.0, 30, 100, 250, 400, 450]
    )
    func fills(payments: Double) throws {
        let planWithSubscribers: (Int?) -> PlannedCluster = { count in
            plan(payments) {
                ($0.listeners, $0.listenersPerEvent, $0.processes) = (1000, 20, count)
            }
        }
        let planned = planWithSubscribers(nil)
        let roles: [KeyPath<PlannedCluster, PlannedCluster.Role>] = [
            \.worker, \.notifier, \.api, \.gateway,
        ]
        for role in roles {
            let count = try #require(planned[keyPath: role].processes)
            #expect(planned[keyPath: role].cores <= Double(count), "\(role) \(planned)")
            #expect(count >= 2)
            let left = planWithSubscribers(count - 1)[keyPath: role]
            #expect(left.cores <= Double(count - 1), "\(role) \(left) of \(count)")
            guard count > 2 else { continue }
            let few = planWithSubscribers(count - 2)[keyPath: role]
            #expect(few.cores > Double(count - 2), "\(role) \(few) of \(count)")
        }
    }

    @Test("no number of processes is reported if reading all events fills a core")
    func impossible() {
        // 2,500 events a second are too many for a notifier to read, but not for the other roles.
        let planned = plan(500) { $0.listeners = 10 }
        #expect(planned.notifier.processes == nil && planned.notifier.cores > 2, "\(planned)")
        #expect([planned.worker, planned.api, planned.gateway].allSatisfy { $0.processes != nil })
        let all = plan(3000) { $0.listeners = 10 }
        #expect([all.notifier, all.api].allSatisfy { $0.processes == nil }, "\(all)")
        // A gateway filters the entries, and reads an event only for its subscribers.
        #expect(all.gateway.processes != nil, "\(all)")
        // Work that is divided never exceeds the limit.
        #expect((all.worker.processes ?? 0) > 9, "\(all)")
        // A configured number of processes is kept.
        #expect(plan(500) { $0.processes = 4 }.notifier.processes == 4)
    }

    @Test("data too large for one master is spread over enough partitions for the fullest master")
    func masters() {
        let small = plan(1)
        #expect(small.masters == 1 && small.partitions == 16)
        let even = plan(100)
        #expect(even.masters > 1 && even.partitions == 16, "\(even)")
        let uneven = plan(100, hottest: { partitions, _ in partitions < 256 ? 1.5 : 1.25 })
        #expect(uneven.partitions == 256 && uneven.masters > even.masters, "\(uneven)")
        #expect(Double(uneven.masters) * 24e9 > uneven.redisBytes * 1.24)
    }

    @Test("a configured number of processes has the fixed cost of each process")
    func processes() {
        let (one, four) = (plan(1) { $0.processes = 1 }, plan(1) { $0.processes = 4 })
        // The fixed cost plus wakes: four processes that divide little work wake more often than one.
        let up = 3 * PlannedCost.workerUp.value / 1_000_000
        #expect(four.worker.cores - one.worker.cores >= up)
        #expect(four.redisCores > one.redisCores && four.api.processes == 4)
    }

    @Test("frequent work shares wakes, and costs less per item")
    func wakes() {
        let each = [1.0, 10, 100, 1000].map { rate in
            (plan(rate) { $0.processes = 1 }).worker.cores / rate
        }
        #expect(each == each.sorted(by: >), "\(each)")
        let most = PlannedCost.processWakes.value * PlannedCost.workerWake.value / 1_000_000
        let (slow, fast) = (plan(1000) { $0.processes = 1 }, plan(2000) { $0.processes = 1 })
        // At a high rate additional load is work with hardly any wakes.
        let polls = fast.pollsPerSecond - slow.pollsPerSecond
        let work = polls * PlannedCost.workerPoll.value + 5000 * PlannedCost.workerEvent.value
        let wakes = fast.worker.cores - slow.worker.cores - work / 1_000_000
        #expect(abs(wakes) < most / 50, "\(wakes) of \(most)")
    }

    @Test("every cost has a unit, a value, and a measurement or estimate as its source")
    func table() {
        for cost in PlannedCost.allCases {
            let isMeasured = !cost.entry.unit.isEmpty
            let names = ["ops/plan", "pytest -s Tests/EndToEnd/test_costs.py"]
            let isEstimate = cost.entry.source.hasPrefix("estimate: ")
            #expect(isEstimate == (cost == .refundablePayment), "\(cost)")
            let hasCommand = names.contains { cost.entry.source.hasPrefix($0) }
            #expect(!isMeasured || isEstimate || hasCommand, "\(cost)")
            #expect(cost.value.isFinite && cost.value >= 0, "\(cost)")
        }
    }
}
