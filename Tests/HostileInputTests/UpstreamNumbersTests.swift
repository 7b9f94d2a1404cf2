import JSONText
import PollerIdentity
import PollerLocalization
import PollerTesting
import Testing

@testable import Poller
@testable import PollerPayments
@testable import PollerUpstreams

@Suite("Extreme numbers in responses of an HTTP upstream")
struct UpstreamNumbersTests {
    static let document = #"{"state":"settled","cents":1099,"currency":"EUR","at":[1,2,{"x":3}]}"#

    /// Reads a response by the pointers of a configuration.
    struct Reader: PaymentReader {
        let payment: HTTPPayment?

        func facts(
            of key: WatchKey,
            in object: RawJSON,
            charge: RawJSON?,
            lists: ChargeLists,
            seenAt: Timestamp
        ) -> PaymentFacts? {
            payment?.facts(in: object, seenAt: seenAt)
        }
    }

    /// Returns a reader for each payment state, and one without `payment`.
    static func readers() throws -> [Reader] {
        let configured = try PaymentState.allCases.map { state in
            Reader(
                payment: try HTTPPayment(
                    state: JSONPointer("/state"),
                    words: ["settled": state.rawValue],
                    amount: JSONPointer("/cents"),
                    currency: .at(JSONPointer("/currency"))
                )
            )
        }
        return [Reader(payment: nil)] + configured
    }

    /// Runs all processing of a response if its status is valid.
    static func follow(_ bytes: [UInt8], _ reader: Reader, _ languages: [PayerLanguage]) throws {
        guard let text = String(validating: bytes, as: UTF8.self),
            let found = try? JSONPointer("/state").scalar(in: bytes),
            let status = try? SourceStatus(found)
        else { return }
        let observation = Observation(status: status, final: true, object: RawJSON(unchecked: text))
        try PaymentRun(payments: reader, languages: languages)
            .follow(PaymentRun.Answer(kind: .http, observation: observation))
    }

    @Test("any value in any place of a response crashes no process, whatever the configuration")
    func eachNumber() throws {
        let document = try #require(JSONTree(Self.document))
        // Without `payment` an amount is read from these members, as in Stripe objects.
        var plain = document
        plain["amount"] = .raw("1099")
        for reader in try Self.readers() {
            for tree in [document, plain] {
                for (place, change) in HostileNumbers.changes(of: tree).enumerated() {
                    let language = PayerLanguage.allCases[place % PayerLanguage.allCases.count]
                    try Self.follow(Array(change.document.json.utf8), reader, [language])
                }
            }
        }
    }
}
