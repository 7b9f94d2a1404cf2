import JSONText
import Testing

@Suite("Numbers that are written")
struct JSONWriterTests {
    private func written(_ number: Double) -> String {
        var writer = JSONWriter()
        writer.value(number)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test(
        "are null where JSON has no such number",
        arguments: [Double.nan, .infinity, -.infinity, .signalingNaN]
    )
    func notFinite(_ number: Double) {
        #expect(written(number) == "null")
    }

    @Test("are valid JSON that reads back as the same number")
    func finite() {
        let numbers: [Double] = [
            0, -0.0, 1, -1, 0.1, 1e308, -1e308, .leastNonzeroMagnitude, 9_007_199_254_740_992,
            9.3e18, -9.3e18,
            1e19,
        ]
        for number in numbers {
            let text = written(number)
            #expect(RawJSON(text)?.number == text)
            #expect(Double(text) == number)
        }
    }
}
