import Foundation
import JSONText
import PollerIdentity
import PollerLocalization
import PollerTesting
import StripeAPI
import Testing

@testable import PollerChannels
@testable import PollerHints
@testable import PollerPayments
@testable import PollerUpstreams
@testable import PollerWatches

@Suite("Extreme numbers in Stripe's objects")
struct StripeNumbersTests {
    private let documents: StripeDocuments
    private let followed = PaymentRun.Followed()

    init() throws {
        documents = try StripeDocuments()
    }

    private func follow(
        _ kind: SourceKind,
        _ name: String,
        _ document: JSONTree,
        _ languages: [PayerLanguage],
        decodes: Bool = false
    ) throws -> Bool {
        guard let answer = PaymentRun.answer(kind, Array(document.json.utf8)) else { return false }
        var run = PaymentRun(payments: StripePayments(), languages: languages)
        run.decodes = decodes
        run.followed = followed
        try run.follow(answer)
        return true
    }

    @Test("every object of the specification is decoded, in every status and language")
    func understood() throws {
        let variants = try documents.variants()
        #expect(variants.count > 300)
        for (place, variant) in variants.enumerated()
        where HostileNumbers.isTaken(place, share: 3) {
            let languages =
                place % 20 == 0 ? PayerLanguage.allCases : [PayerLanguage.allCases[place % 8]]
            #expect(
                try follow(variant.kind, variant.name, variant.document, languages),
                "\(variant.name)"
            )
        }
    }

    @Test("any value in any number of an object crashes no process")
    func eachNumber() throws {
        for polled in try documents.polled() {
            let changes = HostileNumbers.changes(of: polled.document, to: HostileNumbers.extremes)
            #expect(changes.count > 12, "\(polled.name) has hardly any numbers")
            for (place, change) in changes.enumerated() {
                let language = PayerLanguage.allCases[place % PayerLanguage.allCases.count]
                _ = try follow(
                    polled.kind,
                    "\(polled.name): \(change.name)",
                    change.document,
                    [language]
                )
            }
        }
    }

    @Test("one value in all numbers of an object, in every status, crashes no process")
    func allNumbers() throws {
        for (place, variant) in try documents.variants().enumerated() {
            for (other, value) in HostileNumbers.numbers.enumerated()
            where HostileNumbers.isTaken(place + other, share: 20) {
                let change = HostileNumbers.allNumbers(of: variant.document, are: value)
                let language = PayerLanguage.allCases[place % PayerLanguage.allCases.count]
                _ = try follow(
                    variant.kind,
                    change.name,
                    change.document,
                    [language],
                    decodes: true
                )
            }
        }
    }

    @Test("a number in place of a text crashes no process")
    func numbersForTexts() throws {
        for polled in try documents.polled() {
            for change in HostileNumbers.numbersForTexts(in: polled.document) {
                _ = try follow(polled.kind, change.name, change.document, [.en])
            }
        }
    }

    @Test("a list of disputes with any amounts crashes no process")
    func disputes() throws {
        let charge = try documents.object("charge").with("status", "succeeded")
        let dispute = try documents.object("dispute").with("status", "lost")
        guard var answer = PaymentRun.answer(.charge, Array(charge.json.utf8)) else {
            Issue.record("the charge is not understood")
            return
        }
        for value in HostileNumbers.numbers {
            let changed = HostileNumbers.allNumbers(of: dispute, are: value).document.json
            answer.disputes = RawJSON(#"{"data":[\#(changed),\#(changed),\#(changed)]}"#)
            try PaymentRun(payments: StripePayments(), languages: [.de]).follow(answer)
        }
    }

    @Test("an event of every type with any value in all its numbers crashes no process")
    func events() throws {
        let objects = try [
            "source", "payment_intent", "setup_intent", "charge", "refund", "dispute",
        ].map {
            try documents.object($0)
        }
        let types = StripeEvents.types + StripeEvents.moneyTypes + ["payout.paid", ""]
        for (place, type) in types.enumerated() {
            let event = try documents.event(type, about: objects[place % objects.count])
            for value in HostileNumbers.numbers + HostileNumbers.others {
                read(event: HostileNumbers.allNumbers(of: event, are: value).document)
            }
        }
    }

    @Test("a mandate notification with any value in any number is announced or rejected")
    func mandates() throws {
        for type in ["source_mandate_notification", "source_transaction"] {
            let object = try documents.object(type).with("type", "sepa_debit")
            let event = try documents.event("source.mandate_notification", about: object)
            for change in HostileNumbers.changes(of: event)
                + HostileNumbers.numbersForTexts(in: event)
            {
                guard let notice = read(event: change.document) else { continue }
                try announce(notice)
            }
        }
    }

    @discardableResult
    private func read(event: JSONTree) -> MandateNotice? {
        let event = try? StripeJSON.decode(StripeEvent.self, from: Array(event.json.utf8))
        guard case .confirmed(let notice)? = event?.asHint.mandate else { return nil }
        return notice
    }

    private func announce(_ notice: MandateNotice) throws {
        #expect(notice.amount.map { $0 >= 0 } ?? true)
        let snapshot = WatchSnapshot(
            watch: Watch(
                key: WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source),
                policy: .auto,
                createdAt: Timestamp(ms: 0),
                deadline: Timestamp(ms: 0),
                run: 1,
                seq: 1
            ),
            closed: .settled,
            nextPollAt: nil,
            lastError: nil,
            notify: [],
            metadata: "",
            lastEvent: nil
        )
        let event = Event(announcing: notice, of: snapshot, at: Timestamp(ms: 1_795_000_000_000))
        #expect(Event(json: event.json)?.mandate == notice)
        try PaymentRun(payments: StripePayments()).follow(event, of: snapshot.watch)
    }
}
