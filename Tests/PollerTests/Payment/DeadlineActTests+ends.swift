import PollerIdentity
import PollerQueue
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerWatches

/// No deadline action is based on a guess of a hold's length or of the payer's time to pay.
extension DeadlineActTests {
    @Test("without an end in the charge, the hold lasts as long as its payment method allows")
    func byMethod() {
        for authorisation in [DeadlineActs.Authorisation.capture, .cancel] {
            let acts = DeadlineActs(authorisation: authorisation)
            // The hold of a card may end after 4 d 18 h. If it does not, it is not released early.
            let (short, week) = (19 * Self.day / 4 * 9 / 10, 7 * Self.day * 9 / 10)
            if authorisation == .capture {
                #expect(minutes(acts, "card", at: [0, 1, short - 1, short, short]) == [short])
            } else {
                #expect(minutes(acts, "card", at: [0, short, short, week - 1, week]) == [week])
            }
            // Klarna holds for four weeks, so nothing happens after six days.
            let month = 28 * Self.day * 9 / 10
            #expect(minutes(acts, "klarna", at: [0, week, week, month, month]) == [month])
        }
    }

    @Test("no action is taken on a hold with an unknown end")
    func endless() {
        for authorisation in [DeadlineActs.Authorisation.capture, .cancel] {
            let acts = DeadlineActs(authorisation: authorisation)
            let looks = [0, 1, 6, 7, 13, 28, 29].map { $0 * Self.day }
            #expect(minutes(acts, "endless", at: looks) == [])
        }
    }

    @Test("an action not yet visible in reads is repeated with growing waits")
    func staleReads() throws {
        var watch = watch(DeadlineActs(abandoned: .cancel), status: "requires_action")
        var waits: [Duration] = []
        for _ in 0..<5 {
            let begun = seen("requires_action", "begun")
            let decision = acted(watch, .abandon, begun, .done, minute: Self.day)
            guard case .next(let wait) = decision.verdict else { break }
            waits.append(wait)
            watch = kept(watch, decision)
        }
        #expect(waits == [.zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8)])
    }

    @Test("a payment with a voucher is watched to the voucher's end, and not cancelled before")
    func vouchers() {
        let acts = DeadlineActs(abandoned: .cancel)
        let voucher = seen("requires_action", "voucher")
        var watch = look(watch(acts), voucher, minute: 0).next
        for day in [1, 2, 29, 31, 59, 65] as [Int64] {
            let (act, decision, next) = look(watch, voucher, minute: day * Self.day)
            guard act == nil, case .next = decision.verdict else {
                return fail("day \(day): \(act as Any) \(decision.verdict)")
            }
            watch = next
        }
        // The voucher ends after 60 days, and its payment is reported within six more days.
        #expect(look(watch, voucher, minute: 67 * Self.day).act == .abandon)
        // The watch stays open without an answer as well.
        var generator = SeededGenerator(seed: 7)
        let silence = PollResult.unavailable("503", retryAfter: nil)
        let context = context(watch, minute: 40 * Self.day)
        guard
            case .next = PollDecider().decide(context, .answer(silence), using: &generator).verdict
        else { return fail("it has ended without an answer") }
    }

    @Test("a chosen watch span is kept, and the default span is extended to the voucher's end")
    func spans() {
        let voucher = seen("requires_action", "voucher")
        let short = look(watch(.unset), voucher, minute: 0).next
        #expect(short.end == short.deadline)
        let plain = look(watch(.unset, span: .seconds(30 * 86_400)), voucher, minute: 0).next
        #expect(plain.end >= start + .seconds(66 * 86_400))
        #expect(plain.end <= start + .seconds(68 * 86_400))
        let paid = watch(.unset, status: "succeeded", span: .seconds(30 * 86_400))
        #expect(paid.end == paid.deadline)
    }

    @Test("an intent that its bank has not answered is watched until the bank must have answered")
    func debits() {
        let debit = seen("processing", "debit")
        let month = Duration.seconds(30 * 86_400)
        let late = 28 * Self.day
        let plain = look(watch(.unset, span: month), debit, minute: late).next
        // A SEPA debit is answered within 24 days, and this one was made on day 28.
        #expect(plain.end >= start + .seconds(52 * 86_400))
        #expect(plain.end <= start + .seconds(54 * 86_400))
        guard case .next = look(plain, debit, minute: 40 * Self.day).decision.verdict else {
            return fail("it has ended while the bank works")
        }
        // A chosen span is kept.
        let short = look(watch(.unset), debit, minute: 0).next
        #expect(short.end == short.deadline)
        let endless = Watch(
            plain.key,
            createdAt: start,
            deadline: start + month,
            state: WatchState(status: .processing),
            payment: PaymentMemory(changesUntil: start + month * 9)
        )
        #expect(endless.end == start + month * 2)
    }
}
