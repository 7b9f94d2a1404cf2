import JSONText
import Testing

@testable import PollerWire

@Suite("Numbers on the wire")
struct WireNumberTests {
    private static let hostile = [
        "9007199254740992", "-9007199254740992", "9223372036854775807", "-9223372036854775808",
        "18446744073709551616", "1e308", "1e400", "-1e400", "1.5",
    ]

    private func read<Value: WireValue>(_ text: String, as type: Value.Type) -> Value? {
        guard let json = RawJSON(text) else { return nil }
        return try? Value.read(json, FieldLocation("n"))
    }

    @Test("numbers outside the safe JSON integers are rejected", arguments: hostile)
    func outOfRange(_ text: String) {
        #expect(read(text, as: Int.self) == nil)
        #expect(read(text, as: WholeNumber.self) == nil)
    }

    @Test("the largest and smallest safe JSON integers are accepted")
    func ends() {
        let most = 9_007_199_254_740_991
        #expect(read("\(most)", as: Int.self) == most)
        #expect(read("-\(most)", as: Int.self) == -most)
        #expect(read("9.007199254740991e15", as: WholeNumber.self)?.value == most)
    }

    @Test("infinite numbers are rejected", arguments: ["1e400", "-1e400", "1e309"])
    func finite(_ text: String) {
        #expect(read(text, as: Double.self) == nil)
        #expect(read("1e308", as: Double.self) == 1e308)
    }
}
