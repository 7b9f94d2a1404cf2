import NIOCore
import PollerTesting
import Testing

@testable import PollerNet

@Suite("Whose turn it is to be looked up")
struct LookupPlanTests {
    private var plan = LookupPlan<ManualClock.Instant>()
    private var callers = 0
    private let answer: LookupAnswer = .failure(ResolutionFailure(reason: "whatever it is"))

    private func time(_ span: Duration) -> ManualClock.Instant { .init(offset: span) }

    /// Asks for names, each by a caller of its own; the last caller.
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

    @Test("who asks for the same name waits for the same lookup")
    mutating func shared() {
        lookUp(["a.test", "a.test", "a.test"])
        #expect(plan.start() == ["a.test"])
        lookUp(["a.test"])
        #expect(plan.start() == [])
        #expect(plan.finish("a.test", answer, at: time(.zero)) == [1, 2, 3, 4])
    }

    @Test("addresses hold for three seconds, failures for one", arguments: [true, false])
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

    @Test("two domains whose names never end leave threads for all others")
    mutating func domains() {
        lookUp(names(100, below: "mire-one.test") + names(100, below: "deep.mire-two.test"))
        let stuck = plan.start()
        #expect(stuck.count { $0.hasSuffix("mire-one.test") } == LookupLimits.domainMax)
        #expect(stuck.count { $0.hasSuffix("mire-two.test") } == LookupLimits.domainMax / 2)
        lookUp(["shop.good.test", "intranet"])
        #expect(plan.start() == ["shop.good.test", "intranet"])
    }

    @Test("a customer's domain below a registry's does not fill the registry's")
    mutating func registries() {
        lookUp(names(100, below: "mire.co.uk") + ["shop.good.co.uk", "other.co.uk"])
        #expect(
            plan.start() == ["h0.mire.co.uk", "h1.mire.co.uk", "shop.good.co.uk", "other.co.uk"]
        )
        lookUp(["late.co.uk"])
        #expect(plan.start() == [])
        finish("other.co.uk")
        #expect(plan.start() == ["late.co.uk"])
    }

    @Test("there are only so many threads, and names take turns at them")
    mutating func threads() {
        let most = LookupLimits.threadsMax
        let names = (0...most + 1).map { "h.d\($0).test" }
        lookUp(names)
        #expect(plan.start() == Array(names.prefix(most)))
        #expect(plan.start() == [])
        finish("h.d1.test")
        #expect(plan.start() == [names[most]])
    }

    @Test("a name that nobody waits for any more is skipped")
    mutating func abandoned() {
        lookUp(names(LookupLimits.domainMax, below: "mire.test"))
        #expect(plan.start().count == LookupLimits.domainMax)
        let first = lookUp(["late.mire.test"])
        #expect(plan.start() == [])
        plan.cancel("late.mire.test", caller: first)
        lookUp(["later.mire.test", "latest.mire.test"])
        finish("h0.mire.test")
        #expect(plan.start() == ["later.mire.test"])
        // Asked for again, it has another turn, and only one.
        lookUp(["late.mire.test"])
        finish("h1.mire.test")
        finish("h2.mire.test")
        #expect(plan.start() == ["latest.mire.test", "late.mire.test"])
    }

    @Test("a lookup goes on without its callers, and is remembered")
    mutating func left() {
        let caller = lookUp(["a.test"])
        _ = plan.start()
        plan.cancel("a.test", caller: caller)
        #expect(plan.finish("a.test", answer, at: time(.zero)) == [])
        #expect(plan.lookUp("a.test", caller: 2, at: time(.zero)) == answer)
    }

    @Test("whatever happens, no bound is exceeded and nobody is forgotten", arguments: 1...50)
    mutating func property(seed: Int) {
        var chance = SeededGenerator(seed: UInt64(seed))
        let suffixes = ["a.test", "x.a.test", "y.a.test", "b.uk", "co.uk", "m.co.uk", "solo"]
        var wanted: [String: Set<Int>] = [:]
        var running: Set<String> = []
        // Every answer is forgotten before the next step.
        var now = time(.zero)
        for step in 1...400 {
            now = now.advanced(by: .seconds(10))
            let suffix = suffixes[Int.random(in: 0..<suffixes.count, using: &chance)]
            let name = "h\(Int.random(in: 0..<9, using: &chance)).\(suffix)"
            switch Int.random(in: 0..<5, using: &chance) {
            case 0...2:
                #expect(plan.lookUp(name, caller: step, at: now) == nil)
                wanted[name, default: []].insert(step)
            case 3:
                guard let caller = wanted[name]?.randomElement(using: &chance) else { continue }
                plan.cancel(name, caller: caller)
                wanted[name]?.remove(caller)
            default:
                guard let name = running.sorted().randomElement(using: &chance) else { continue }
                running.remove(name)
                #expect(plan.finish(name, answer, at: now) == wanted[name] ?? [])
                wanted[name] = nil
            }
            for name in plan.start() {
                #expect(running.insert(name).inserted, "\(name) twice, step \(step)")
                #expect(wanted[name]?.isEmpty == false, "\(name) for nobody, step \(step)")
            }
            for (labels, most) in [(2, LookupLimits.domainMax), (3, LookupLimits.domainMax / 2)] {
                let domains = running.map { $0.split(separator: ".") }.filter { $0.count >= labels }
                    .map { $0.suffix(labels).joined(separator: ".") }
                #expect(Dictionary(grouping: domains) { $0 }.values.allSatisfy { $0.count <= most })
            }
        }
        while let name = running.first {
            running.remove(name)
            #expect(plan.finish(name, answer, at: now) == wanted[name] ?? [])
            wanted[name] = nil
            running.formUnion(plan.start())
        }
        let forgotten = wanted.filter { !$0.value.isEmpty }
        #expect(forgotten.isEmpty)
    }
}
