import Foundation
import JSONText
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("Event")
struct EventTests {
    struct Wire: Decodable {
        struct Observed: Decodable {
            let polledAt: String
            let lagMs: Int
        }

        let id: String
        let type: String
        let account: String
        let source: String
        let kind: String
        let seq: Int
        let run: Int
        let previousStatus: String?
        let status: String?
        let final: Bool
        let object: [String: String]?
        let observed: Observed
    }

    func wire(_ event: Event) throws -> Wire {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Wire.self, from: Data(event.json.utf8))
    }

    func event(
        _ object: String?,
        status: String? = "chargeable",
        closed: ClosedReason? = nil
    )
        -> Event
    {
        Event(
            watch: Sample.watch(status: "pending", seq: 1),
            status: status.map(SourceStatus.init(unchecked:)),
            final: false,
            closed: closed,
            object: object.map(RawJSON.init(unchecked:)),
            polledAt: VirtualTime.start,
            lag: .milliseconds(3)
        )
    }

    @Test("an event is JSON of the documented shape, without the source's secret")
    func shape() throws {
        let event = event(#"{"id":"src_1","client_secret":"src_client_secret_x","note":"a\"b"}"#)
        let wire = try wire(event)
        #expect(wire.id == event.id.description && wire.id.hasPrefix("evt_") && wire.id.count == 28)
        #expect(wire.type == "source.chargeable")
        #expect(wire.account == "acct_a")
        #expect(wire.source == "src_1")
        #expect(wire.kind == "source")
        #expect(wire.seq == 2 && wire.run == 1)
        #expect(wire.previousStatus == "pending" && wire.status == "chargeable")
        #expect(!wire.final)
        #expect(wire.object == ["id": "src_1", "note": "a\"b"])
        #expect(wire.observed.polledAt == "2026-11-20T09:00:00.000Z")
        #expect(wire.observed.lagMs == 3)
        #expect(!event.json.contains("client_secret"))
    }

    @Test(
        "an object that is no JSON without its secret is omitted",
        arguments: [
            #"{"client_secret":"12345678","amount":12345678}"#,
            #"{"client_secret":":\"pending\"","status":"pending"}"#,
        ]
    )
    func hostileSecret(object: String) {
        let event = Samples.event(object: object)
        #expect(Event(json: event.json) != nil)
        #expect(event.json.contains(#""object":null"#))
    }

    @Test("an object over the size limit is omitted")
    func large() throws {
        let frame = #"{"a":""}"#.utf8.count
        for (extra, isKept) in [(0, true), (1, false)] {
            let filler = String(repeating: "x", count: Event.objectBytesMax - frame + extra)
            let event = event(#"{"a":"\#(filler)"}"#)
            let wire = try wire(event)
            #expect((wire.object != nil) == isKept)
        }
    }

    @Test("the event of a watch that closes without a final status has the reason in its type")
    func closed() throws {
        for reason in ClosedReason.allCases where reason != .settled && reason != .reached {
            #expect(event(nil, closed: reason).type == "watch.\(reason.rawValue)")
        }
        // The watch has reached its goal, and the event reports the status that did so.
        let reached = event(nil, closed: .reached)
        #expect(reached.type == "source.chargeable" && !reached.final)
        #expect(reached.closed == .reached)
        let unknown = event(nil, status: nil, closed: .cancelled)
        let wire = try wire(unknown)
        #expect(wire.status == nil && wire.object == nil)
    }

    @Test("an event is equal to its parsed JSON")
    func roundTrip() {
        for event in [event(nil), event(#"{"id":"1"}"#), event(nil, status: nil, closed: .gone)] {
            #expect(Event(json: event.json) == event)
        }
        for text in ["", "{}", "null", "[]", event(nil).json + "x"] {
            #expect(Event(json: text) == nil)
        }
    }

    @Test("an ID depends on account, source, run, time span, seq and type only, and never changes")
    func id() {
        let key = Sample.key()
        func id(
            _ key: WatchKey = key,
            run: Int = 1,
            began: Timestamp = VirtualTime.start,
            seq: Int = 2,
            type: String = "source.chargeable"
        ) -> EventID {
            EventID(key: key, run: run, began: began, seq: seq, type: type)
        }
        let others = [
            id(Sample.key("src_2")), id(Sample.key(account: "acct_b")), id(run: 2), id(seq: 3),
            id(type: "source.failed"), id(began: VirtualTime.start + RetentionSpans.deliveryMax),
        ]
        let id = id()
        #expect(event(nil).id == id)
        #expect(event(#"{"a":"1"}"#).id == id)
        #expect(Set(others + [id]).count == 7)
        // The first 18 bytes of SHA-256("acct_a\0source\0src_1\01\02\0source.chargeable\05194"). Clients deduplicate by
        // the ID, so no release may change it.
        #expect(id.description == "evt_xFLwrW16Iny-iDljioo1dTxf")
    }

    @Test("a watch recreated after retention gets new event IDs, one recreated soon the same IDs")
    func again() {
        func id(_ began: Timestamp) -> EventID {
            EventID(key: Sample.key(), run: 1, began: began, seq: 1, type: "source.pending")
        }
        // A closed watch is kept for at least four days.
        let kept = Duration.seconds(4 * 86_400)
        for day in [0, 10, 11, 12, 300] {
            let began = VirtualTime.start + .seconds(day * 86_400)
            let forgotten = began + kept + .milliseconds(1)
            #expect(id(began) != id(forgotten), "day \(day)")
        }
        let began = VirtualTime.start + .seconds(20 * 86_400)
        #expect(id(began) == id(began + .seconds(60)))
    }

    /// An object with line breaks.
    ///
    /// One line looks like an event of another payment.
    static let hostile = "{\r\n \"note\" : \"a  b\",\n \"x\":\n{\"id\":\"evt_x\",\"seq\":1}\n }"

    @Test("an upstream's object is recorded without line breaks")
    func oneLine() throws {
        let event = event(Self.hostile)
        #expect(!event.json.utf8.contains(0x0A) && !event.json.utf8.contains(0x0D))
        let object = #"{"note":"a  b","x":{"id":"evt_x","seq":1}}"#
        #expect(event.json.contains(#""object":\#(object),"#))
    }

    @Test("white space does not count towards the size limit of an object")
    func compactLimit() throws {
        let spaces = String(repeating: " \n", count: Event.objectBytesMax)
        #expect(try wire(event(#"{"id":\#(spaces)"src_1"}"#)).object == ["id": "src_1"])
    }

    @Test("an event of a kind that only another release knows is preserved")
    func otherKind() throws {
        let json = event(nil).json.replacing(#""kind":"source""#, with: #""kind":"invoice""#)
        let event = try #require(Event(json: json))
        #expect(event.key.kind == .other("invoice") && event.key.kind.rawValue == "invoice")
        #expect(event.json == json)
        #expect(event.key.lane.description == "acct_a/invoices")
        #expect(event.key.lane.accountAndKind?.kind == .other("invoice"))
        #expect(SourceKind(rawValue: "invoice") == nil)
    }

    @Test("client secrets are removed, both as members and inside URLs")
    func clientSecrets() {
        let source = """
            {"id":"src_1","client_secret":"s3cret","redirect":\
            {"url":"https://bank/src_1?client_secret=s3cret&x=1","return_url":"a?client_secret=s3cret"}}
            """
        let shown = RawJSON(unchecked: source).withoutClientSecrets().description
        #expect(!shown.contains("s3cret"))
        #expect(shown.contains("https://bank/src_1?client_secret=redacted&x=1"))
        #expect(shown.hasSuffix("\"a?client_secret=redacted\"}}"))
    }

    @Test("a secret in a path is redacted, and the secret of a charge's source is removed")
    func secretsElsewhere() {
        let source = """
            {"id":"src_1","client_secret":"src_client_secret_1","type":"sepa_debit","sepa_debit":\
            {"mandate_url":"https://hooks.example/file/src_1/src_client_secret_1"}}
            """
        let kept = """
            {"id":"src_1","type":"sepa_debit","sepa_debit":\
            {"mandate_url":"https://hooks.example/file/src_1/redacted"}}
            """
        #expect(RawJSON(unchecked: source).withoutSecrets().description == kept)
        let charge = RawJSON(unchecked: "{\"id\":\"ch_1\",\"source\":\(source)}").withoutSecrets()
        #expect(charge.description == "{\"id\":\"ch_1\",\"source\":\(kept)}")
    }

    @Test(
        "the refund account is removed from a source and from the source of a charge",
        arguments: ["multibanco", "sepa_credit_transfer", "ach_credit_transfer"]
    )
    func refundAccounts(type: String) {
        let source = """
            {"id":"src_1","client_secret":"s3cret","type":"\(type)","\(type)":{\
            "refund_account_holder_name":"Jenny","reference":"X","refund_iban":"PT50",\
            "refund_account_holder_address_city":"Lisboa","refund_account_number":"000123",\
            "refund_routing_number":"110000000"},"receiver":{"refund_attributes_status":"available"}}
            """
        let kept = """
            {"id":"src_1","type":"\(type)","\(type)":{"reference":"X"},\
            "receiver":{"refund_attributes_status":"available"}}
            """
        #expect(RawJSON(unchecked: source).withoutSecrets().description == kept)
        let charge = RawJSON(unchecked: "{\"id\":\"ch_1\",\"source\":\(source),\"x\":1}")
        let shown = charge.withoutSecrets().description
        #expect(!shown.contains("PT50") && !shown.contains("Jenny") && !shown.contains("Lisboa"))
        #expect(shown.hasSuffix("\"refund_attributes_status\":\"available\"}},\"x\":1}"))
    }
}
