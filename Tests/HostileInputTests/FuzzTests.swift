import Foundation
import JSONText
import PollerIdentity
import PollerLocalization
import PollerNet
import PollerTesting
import PollerWire
import StripeAPI
import Testing

@testable import PollerAPI
@testable import PollerChannels
@testable import PollerDeliveries
@testable import PollerHints
@testable import PollerOperations
@testable import PollerPayments
@testable import PollerUpstreams
@testable import PollerWatches

/// Tests each reader with randomly damaged documents: invalid input causes an error, never a crash.
@Suite("Fuzz", .serialized)
struct FuzzTests {
    private static let budget = FuzzBudget(oneOf: 5)

    @Test("Stripe's objects")
    func stripe() throws {
        let variants = try StripeDocuments().variants()
        // The undamaged documents must be valid. Otherwise the damage would prove nothing.
        #expect(
            variants.allSatisfy { PaymentRun.answer($0.kind, Array($0.document.json.utf8)) != nil }
        )
        try Self.budget.run("stripe objects") { generator in
            guard let variant = variants.randomElement(using: &generator) else { return }
            let bytes = JSONMutation.mutated(variant.document, using: &generator)
            guard let answer = PaymentRun.answer(variant.kind, bytes) else { return }
            let languages = [PayerLanguage.allCases.randomElement(using: &generator) ?? .en]
            try PaymentRun(payments: StripePayments(), languages: languages).follow(answer)
        }
    }

    @Test("Stripe's events")
    func events() throws {
        let documents = try StripeDocuments()
        let types = StripeEvents.types + StripeEvents.moneyTypes
        let objects = try [
            "source", "payment_intent", "charge", "dispute", "source_mandate_notification",
        ].map {
            try documents.object($0)
        }
        for object in objects {
            let event = Data(try documents.event("source.chargeable", about: object).json.utf8)
            #expect(
                try !JSONDecoder().decode(StripeEvent.self, from: event).asHint.subjects.isEmpty
            )
        }
        try Self.budget.run("stripe events") { generator in
            guard let type = types.randomElement(using: &generator),
                let object = objects.randomElement(using: &generator)
            else { return }
            let event = try documents.event(type, about: object)
            let bytes = JSONMutation.mutated(event, using: &generator)
            let read = try? JSONDecoder().decode(StripeEvent.self, from: Data(bytes))
            _ = read?.asHint
        }
    }

    @Test("responses of an HTTP upstream")
    func upstreams() throws {
        let document = try #require(JSONTree(UpstreamNumbersTests.document))
        let readers = try UpstreamNumbersTests.readers()
        try Self.budget.run("upstream answers") { generator in
            guard let reader = readers.randomElement(using: &generator) else { return }
            let bytes = JSONMutation.mutated(document, using: &generator)
            try UpstreamNumbersTests.follow(bytes, reader, [.pl])
        }
    }

    @Test("events, orders, requests and archives")
    func wire() throws {
        let documents = try WireDocuments()
        try Self.budget.run("wire") { generator in
            guard let reader = WireDocuments.Reader.allCases.randomElement(using: &generator) else {
                return
            }
            let bytes = JSONMutation.mutated(documents.document(reader), using: &generator)
            try documents.follow(bytes, reader, [.en])
        }
    }

    @Test("texts from clients, recipients and configurations")
    func texts() {
        let numbers = HostileNumbers.numbers.map(\.json) + ["", "0", "007", "+1", "１"]
        Self.budget.run("texts") { generator in
            let (one, two) = (
                numbers.randomElement(using: &generator) ?? "",
                numbers.randomElement(using: &generator) ?? ""
            )
            guard let seed = Self.texts(one, two).randomElement(using: &generator) else { return }
            let bytes = JSONMutation.damaged(Array(seed.utf8), using: &generator)
            Self.read(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Returns a text in each form that has a reader.
    private static func texts(_ one: String, _ two: String) -> [String] {
        [
            "\(one)s", "\(one)d", one, "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun Nov  6 08:49:37 \(one)",
            "dlv_\(one)_AAAAAAAAAAAA", "\(one) ep_1", "\(one)-\(two)", "t=\(one),v1=\(two)",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "\(one)|\(two)|a|b|c|\(one)",
            "a|b|c|\(one)|\(two)|o|\(one)|\(two)|rd|\(one)",
            "amount>=\(one) amount=\(two) created>\(one)d",
            "https://bank.example:\(one)/p/{id}?a=\(two)&=&key=%41", "mailto:a+\(one)@b.example",
            "smtp://a:b@[::1]:\(one)", "eps=\(one)h/\(two)h,klarna=-/6h", "Name <a@b.example>",
            "127.0.0.1:\(one)", "2026-11-20T09:30:00.125Z", "\(one)-11-20T09:30:00.125Z",
            Base64URL.encode("1:r:\(one):\(two):a/b".utf8),
            Base64URL.encode("1:\(one)-\(two)".utf8),
            "W/\"a\",\"b\"", "name=a role=admin accounts=b",
        ]
    }

    /// Passes a text to every reader.
    private static func read(_ text: String) {
        let now = Timestamp(ms: 1_795_000_000_000)
        _ = Duration(text: text)?.text
        _ = Timestamp(rfc3339: text).map { $0 + .seconds(Int64.max) }
        _ = Amount(decimal: text)
        _ = RetryAfter.parse(text, now: now)
        _ = try? DeliveryID(text)
        _ = FanOutPosition(text)
        _ = OutboxPosition(text)
        _ = TraceContext(traceparent: text)
        _ = TraceContext(packed: text)
        _ = WatchMemory(packed: text)
        let memory = PaymentMemory(packed: text, charge: ChargeID(unchecked: "ch_1"))
        #expect(PaymentMemory(packed: memory.packed).packed == memory.packed)
        _ = PaymentReading(PaymentFacts(kind: .source), after: memory)
        _ = try? SearchQuery(text, keys: .standard, now: now)
        _ = try? URLTemplate(text).credentials
        _ = try? NotifyURL(text)
        _ = try? MailAddress(text)
        _ = try? SMTPRelay(text)
        _ = try? MailSender(text)
        _ = try? SourceExpiry(changes: text)
        _ = try? ListenAddress(text)
        _ = LaneCursor(text)
        _ = OutboxCursor(text, partitions: 1)
        _ = Redaction([text, "Bearer \(text)"]).json(Array(#"{"a":"\#(text)"}"#.utf8))
        try? WebhookSignature.verify(
            payload: Data(text.utf8),
            header: text,
            secret: "whsec_1",
            now: now.ms / 1000
        )
        _ = PaymentReason(code: text)
        _ = PollerPayments.NextStep.isSafe(text)
        _ = try? PollerPayments.RefundAccount(holder: text, identifier: .iban(text))
    }
}
