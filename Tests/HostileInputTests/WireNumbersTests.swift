import PollerLocalization
import PollerTesting
import Testing

@Suite("Extreme numbers in wire objects")
struct WireNumbersTests {
    @Test(
        "any value in any number of an event, an order, a request or an archive crashes no process"
    )
    func eachNumber() throws {
        let documents = try WireDocuments()
        let changes = documents.changes()
        for reader in WireDocuments.Reader.allCases {
            #expect(
                changes.filter { $0.reader == reader }.count > 20,
                "\(reader) has hardly any numbers"
            )
        }
        for (place, change) in changes.enumerated() {
            let language = PayerLanguage.allCases[place % PayerLanguage.allCases.count]
            try documents.follow(Array(change.document.json.utf8), change.reader, [language])
        }
    }

    @Test("every reader accepts its unchanged document")
    func reached() throws {
        let documents = try WireDocuments()
        for reader in WireDocuments.Reader.allCases {
            #expect(try documents.isRead(reader), "\(reader)")
        }
    }
}
