import Testing

@testable import PollerUpstreams

@Suite("Credentials in the URL of an HTTP upstream")
struct HTTPURLTests {
    @Test(
        "a query of any form is read without a trap",
        arguments: [
            ("?a=1&=&b=2", []), ("?=", []), ("?", []), ("?&&&", []), ("?==", []), ("?key", []),
            ("?key=", []), ("?=secret", []), ("?token=abc", ["abc"]), ("?token==", ["=", "="]),
            ("?x?key=%41", ["%41", "A"]),
        ] as [(String, [String])]
    )
    func queries(query: String, credentials: [String]) throws {
        let source = try URLTemplate("https://bank.example/p/{id}\(query)").credentials
        #expect(Set(source) == Set(credentials))
    }
}
