import PollerAPI
import PollerHints
import PollerIdentity
import Testing

@testable import pollerd

@Suite("The doctor's check of the event sweep")
struct SweepCheckTests {
    private let now = Timestamp(ms: 1_795_165_200_125)

    private func list(
        _ account: String = "default",
        ago: Duration? = .seconds(1),
        pause: Duration? = .seconds(60),
        isPaid: Bool = false,
        interval: Duration? = nil,
        paidMax: Duration = .seconds(60)
    ) -> ClusterChecks.SweptList {
        ClusterChecks.SweptList(
            ConfiguredSweep.Accounts.Element(
                id: AccountID(unchecked: account),
                expectsWebhooks: false,
                interval: interval,
                paidMax: paidMax
            ),
            SweepStatus(caughtUpAt: ago.map { now + (.zero - $0) }, pause: pause),
            ReadUsage(reads: 6200, transactions: 1, isPaid: isPaid)
        )
    }

    private func result(
        _ lists: [ClusterChecks.SweptList],
        expectsWebhooks: Bool = false
    ) -> HealthResult {
        ClusterChecks.result(of: lists, expectsWebhooks: expectsWebhooks, at: now)
    }

    @Test("accounts swept on time are ok, with the range of their intervals")
    func well() {
        let seen = result([
            list(pause: .seconds(60)), list(ago: .seconds(1300), pause: .seconds(1296)),
        ])
        #expect(seen == HealthResult(.ok, "read every 60 s to 21 min"))
    }

    @Test("a sweep that is a minute late or has never completed gives a warning")
    func late() {
        let seen = result([
            list(), list("shop", ago: .seconds(700), pause: .seconds(60)),
            list("new", ago: nil, pause: .seconds(2)),
        ])
        #expect(seen.status == .warning)
        #expect(seen.message.contains("the events of shop, new are not read in time (last at "))
        #expect(seen.action?.contains("events cannot be read") == true)
    }

    @Test("a paid account without read budget gives a warning, unless it expects webhooks")
    func spent() {
        let lists = [
            list(pause: .seconds(60), isPaid: true),
            list("shop", pause: .seconds(6480), isPaid: true),
        ]
        let seen = result(lists)
        #expect(seen.status == .warning)
        #expect(
            seen.message
                == "a refund or dispute of shop may be detected 108 min late: 62 % of its read allowance is used"
        )
        #expect(seen.action?.contains("STRIPE_WEBHOOK_SECRET") == true)
        #expect(result(lists, expectsWebhooks: true).status == .ok)
        #expect(result([list(pause: .seconds(6480))]).status == .ok, "nothing was paid")
    }

    @Test("a paid account is late only beyond the configured interval, and never with a fixed one")
    func configured() {
        let pause = Duration.seconds(600)
        #expect(result([list(pause: pause, isPaid: true)]).status == .warning)
        #expect(result([list(pause: pause, isPaid: true, paidMax: pause)]).status == .ok)
        #expect(result([list(pause: pause, isPaid: true, interval: pause)]).status == .ok)
        let quick = list(pause: .seconds(60), isPaid: true, paidMax: .seconds(2))
        #expect(result([quick]).status == .warning)
    }

    @Test("an account that no process has swept yet is not late")
    func fresh() {
        let new = ClusterChecks.SweptList(
            ConfiguredSweep.Accounts.Element(id: .main, expectsWebhooks: false, interval: nil),
            nil,
            ReadUsage(reads: 0, transactions: 0)
        )
        #expect(result([new]) == HealthResult(.ok, "not read yet"))
    }
}
