import PollerIdentity
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@Suite("Watch")
struct WatchTests {
    private let watch = Watch(
        Sample.key(),
        createdAt: VirtualTime.start,
        deadline: VirtualTime.start + .seconds(3600),
        seq: 1
    )

    @Test("changing a copy leaves the original as it was")
    func copies() {
        var copy = watch
        #expect(copy == watch && copy.hashValue == watch.hashValue)
        copy.charge = .whole
        copy.options.goal = .final
        copy.acts.abandoned = .cancel
        #expect(watch.charge == nil && watch.goal == .settled && watch.acts == .unset)
        #expect(copy.charge == .whole && copy.goal == .final && copy.acts.abandoned == .cancel)
        #expect(copy != watch)
    }

    @Test("watches with equal values are equal")
    func equality() {
        var copy = watch
        copy.charge = .whole
        copy.charge = nil
        #expect(copy == watch && copy.hashValue == watch.hashValue)
    }

    @Test("a boxed value is equal to another with the same content")
    func boxes() {
        var memory = PaymentMemory(object: "abcdef")
        let before = memory
        memory.money = ChargeFacts(id: ChargeID(unchecked: "ch_1"), status: .succeeded)
        #expect(memory != before && before.money == nil)
        memory.money?.captured = 5
        #expect(memory.money?.captured == 5)
        memory.money = nil
        #expect(memory == before && memory.hashValue == before.hashValue)
    }
}
