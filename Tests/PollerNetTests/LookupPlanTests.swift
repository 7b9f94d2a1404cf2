import NIOCore
import PollerTesting
import Testing

@testable import PollerNet

@Suite("LookupPlan")
struct LookupPlanTests {
    private var plan = LookupPlan<ManualClock.Instant>()
    private var callers = 0
    private let answer: LookupAnswer = .failure(ResolutionFailure(reason: "any reason"))

    private func time(_ span: Duration) -> ManualClock.Instant { .init(offset: span) }

    /// Requests names, each by another caller; returns the last caller.
    @discardableResult
    private mutating func lookUp(_ names: [String]) -> Int {
        for name in names {
            callers += 1
            #expect(plan.lookUp(name, caller: callers, at: time(.zero)) == nil)
        }
        return callers
    }

    private mutating func finish(_ name: String) {
        _ = plan.finish(name, answer, at: time(.zero))
    }

    private func names(_ count: Int, below domain: String) -> [String] {
        (0..<count).map { "h\($0).\(domain)" }
    }

    @Test("callers of the same name share one lookup")
    mutating func shared() {
        lookUp(["a.test", "a.test", "a.test"])
        #expect(plan.start() == ["a.test"])
        lookUp(["a.test"])
        #expect(plan.start() == [])
        #expect(plan.finish("a.test", answer, at: time(.zero)) == [1, 2, 3, 4])
    }

    @Test("addresses are cached for three seconds, failures for one", arguments: [true, false])
    mutating func memory(isFound: Bool) throws {
        let address = try SocketAddress(ipAddress: "192.0.2.1", port: 0)
        let answer = isFound ? .success([address]) : self.answer
        let span: Duration = .seconds(isFound ? 3 : 1)
        lookUp(["a.test"])
        _ = plan.start()
        _ = plan.finish("a.test", answer, at: time(.seconds(10)))
        let before = time(.seconds(10) + span - .milliseconds(1))
        #expect(plan.lookUp("a.test", caller: 2, at: before) == answer)
        #expect(plan.lookUp("a.test", caller: 3, at: time(.seconds(10) + span)) == nil)
        #expect(plan.start() == ["a.test"])
    }

    @Test("two domains whose lookups never end leave threads for all others")
    mutating func domains() {
        lookUp(names(100, below: "slow-one.test") + names(100, below: "deep.slow-two.test"))
        let stuck = plan.start()
        #expect(stuck.count { $0.hasSuffix("slow-one.test") } == LookupLimits.domainMax)
        #expect(stuck.count { $0.hasSuffix("slow-two.test") } == LookupLimits.domainMax / 2)
        lookUp(["shop.good.test", "intranet"])
        #expect(plan.start() == ["shop.good.test", "intranet"])
    }

    @Test("a customer's domain does not fill the share of its registry's domain")
    mutating func registries() {
        lookUp(names(100, below: "slow.co.uk") + ["shop.good.co.uk", "other.co.uk"])
        #expect(
            plan.start() == ["h0.slow.co.uk", "h1.slow.co.uk", "shop.good.co.uk", "other.co.uk"]
        )
        lookUp(["late.co.uk"])
        #expect(plan.start() == [])
        finish("other.co.uk")
        #expect(plan.start() == ["late.co.uk"])
    }

    @Test("the number of threads is limited, and names wait for them in order")
    mutating func threads() {
        let most = LookupLimits.threadsMax
        let names = (0...most + 1).map { "h.d\($0).test" }
        lookUp(names)
        #expect(plan.start() == Array(names.prefix(most)))
        #expect(plan.start() == [])
        finish("h.d1.test")
        #expect(plan.start() == [names[most]])
    }

    @Test("a name without callers is skipped")
    mutating func abandoned() {
        lookUp(names(LookupLimits.domainMax, below: "slow.test"))
        #expect(plan.start().count == LookupLimits.domainMax)
        let first = lookUp(["late.slow.test"])
        #expect(plan.start() == [])
        plan.cancel("late.slow.test", caller: first)
        lookUp(["later.slow.test", "latest.slow.test"])
        finish("h0.slow.test")
        #expect(plan.start() == ["later.slow.test"])
        // Requested again, it is queued again, once.
        lookUp(["late.slow.test"])
        finish("h1.slow.test")
        finish("h2.slow.test")
        #expect(plan.start() == ["latest.slow.test", "late.slow.test"])
    }

    @Test("a lookup continues without its callers, and its answer is cached")
    mutating func left() {
        let caller = lookUp(["a.test"])
        _ = plan.start()
        plan.cancel("a.test", caller: caller)
        #expect(plan.finish("a.test", answer, at: time(.zero)) == [])
        #expect(plan.lookUp("a.test", caller: 2, at: time(.zero)) == answer)
    }

    @Test("in random sequences no limit is exceeded and no caller is lost", arguments: 1...50)
    mutating func property(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let suffixes = ["a.test", "x.a.test", "y.a.test", "b.uk", "co.uk", "m.co.uk", "solo"]
        var requests: [String: Set<Int>] = [:]
        var running: Set<String> = []
        // Every answer expires before the next step.
        var now = time(.zero)
        for step in 1...400 {
            now = now.advanced(by: .seconds(10))
            let suffix = suffixes[Int.random(in: 0..<suffixes.count, using: &generator)]
            let name = "h\(Int.random(in: 0..<9, using: &generator)).\(suffix)"
            switch Int.random(in: 0..<5, using: &generator) {
            case 0...2:
                #expect(plan.lookUp(name, caller: step, at: now) == nil)
                requests[name, default: []].insert(step)
            case 3:
                guard let caller = requests[name]?.randomElement(using: &generator) else {
                    continue
                }
                plan.cancel(name, caller: caller)
                requests[name]?.remove(caller)
            default:
                guard let name = running.sorted().randomElement(using: &generator) else { continue }
                running.remove(name)
                #expect(plan.finish(name, answer, at: now) == requests[name] ?? [])
                requests[name] = nil
            }
            for name in plan.start() {
                #expect(running.insert(name).inserted, "\(name) twice, step \(step)")
                #expect(requests[name]?.isEmpty == false, "\(name) without callers, step \(step)")
            }
            for (labels, most) in [(2, LookupLimits.domainMax), (3, LookupLimits.domainMax / 2)] {
                let domains = running.map { $0.split(separator: ".") }.filter { $0.count >= labels }
                    .map { $0.suffix(labels).joined(separator: ".") }
                #expect(Dictionary(grouping: domains) { $0 }.values.allSatisfy { $0.count <= most })
            }
        }
        while let name = running.first {
            running.remove(name)
            #expect(plan.finish(name, answer, at: now) == requests[name] ?? [])
            requests[name] = nil
            running.formUnion(plan.start())
        }
        let forgotten = requests.filter { !$0.value.isEmpty }
        #expect(forgotten.isEmpty)
    }
}
