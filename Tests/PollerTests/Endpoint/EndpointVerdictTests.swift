import Poller
import PollerTesting
import Testing

@Suite("EndpointVerdict")
struct EndpointVerdictTests {
    private let day = Duration.seconds(86_400)

    private func verdict(
        _ result: AttemptResult,
        failures: Int = 3,
        after span: Duration
    ) -> EndpointVerdict? {
        let trouble = LaneTrouble(failures: failures, since: VirtualTime.start)
        return EndpointVerdict(result, trouble, now: VirtualTime.start + span)
    }

    @Test("410 disables at once")
    func gone() {
        guard case .disable = EndpointVerdict(.rejected("410", .gone), nil, now: VirtualTime.start)
        else {
            Issue.record("still enabled")
            return
        }
    }

    @Test("five days without a success disable, one and three warn before")
    func patience() {
        let failed = AttemptResult.failed("500")
        #expect(verdict(failed, after: day - .milliseconds(1)) == nil)
        guard case .warn(.day, _) = verdict(failed, after: day),
            case .warn(.threeDays, _) = verdict(failed, after: day * 3),
            case .warn(.threeDays, _) = verdict(failed, after: day * 5 - .milliseconds(1)),
            case .disable(let reason) = verdict(failed, after: day * 5)
        else {
            Issue.record("not in this order")
            return
        }
        #expect(reason.contains("500") && reason.contains("\(VirtualTime.start)"))
        #expect(verdict(.delivered, after: day * 9) == nil)
    }

    @Test(
        "after ten refusals in a row the owner is warned, not for an outage",
        arguments: [
            (AttemptClass.unauthorized, true), (.notFound, true), (.tls, true),
            (.serverError, false), (.timeout, false),
        ]
    )
    func refusing(kind: AttemptClass, isWarned: Bool) {
        let result = AttemptResult.failed("?", kind)
        #expect(verdict(result, failures: 8, after: .zero) == nil)
        #expect((verdict(result, failures: 9, after: .zero) != nil) == isWarned)
    }
}
