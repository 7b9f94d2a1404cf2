import PollerIdentity
import Testing

@testable import PollerUpstreams

@Suite("JSON pointers")
struct JSONPointerTests {
    /// The document of RFC 6901 §5, with scalars where it has an array.
    private static let document = #"""
        {"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,
        "deep":{"list":[{"s":"x"},{"s":"y"}]},"null":null,"twice":1,"twice":2}
        """#

    @Test(
        "pointers find the values of the RFC's examples",
        arguments: [
            ("/foo/0", "bar"), ("/foo/1", "baz"), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"),
            ("/m~0n", "8"), ("/deep/list/1/s", "y"), ("/twice", "2"), ("/foo", nil), ("", nil),
            ("/foo/2", nil), ("/foo/01", nil), ("/null", nil), ("/nothing/at/all", nil),
            ("/foo/0/x", nil),
        ] as [(String, String?)]
    )
    func found(pointer: String, value: String?) throws {
        let bytes = Array(Self.document.utf8)
        #expect(try JSONPointer(pointer).scalar(in: bytes) == value)
    }

    @Test("an invalid pointer is rejected", arguments: ["foo", "/a~", "/a~2", "#/a"])
    func refused(text: String) {
        #expect(throws: InvalidInput.self) { try JSONPointer(text) }
    }
}
