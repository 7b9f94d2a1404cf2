import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@Suite("Roots of tokens and cursors")
struct RootsTests {
    private let start = VirtualTime.start
    private let former = [UInt8](repeating: 1, count: 32)
    private let newest = [UInt8](repeating: 2, count: 32)

    @Test("a new root is accepted before it is used, and the former root is accepted for its span")
    func rotation() {
        let roots = Roots(newest, since: start, instead: former)
        let hour = Duration.seconds(3600)
        let before = start + .seconds(-1)
        #expect(roots.current(at: before) == former)
        #expect(roots.accepted(at: before, for: hour) == [former, newest])
        #expect(roots.current(at: start) == newest)
        #expect(roots.accepted(at: start, for: hour) == [newest, former])
        let last = start + hour + .milliseconds(-1)
        #expect(roots.accepted(at: last, for: hour) == [newest, former])
        #expect(roots.accepted(at: start + hour, for: hour) == [newest])
        #expect(Roots(former).accepted(at: start, for: hour) == [former])
    }

    @Test("a key from a replaced root is accepted for its span only")
    func keys() {
        let time = VirtualTime()
        let ring = RootRing(Roots(former)) { time.now }
        let keys = RootKeys("test", from: ring, span: .seconds(60))
        let others = RootKeys("another", from: ring, span: .seconds(60))
        let before = keys.current
        #expect(before != others.current)
        ring.replace(with: Roots(newest, since: time.now, instead: former))
        #expect(keys.current != before && keys.accepted == [keys.current, before])
        time.advance(by: .seconds(60))
        #expect(keys.accepted == [keys.current])
    }
}
