import JSONText
import Testing

@Suite("JSONWriter numbers")
struct JSONWriterTests {
    private func written(_ number: Double) -> String {
        var writer = JSONWriter()
        writer.value(number)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test(
        "infinities and NaN are written as null",
        arguments: [Double.nan, .infinity, -.infinity, .signalingNaN]
    )
    func notFinite(_ number: Double) {
        #expect(written(number) == "null")
    }

    @Test("a written number is valid JSON and is read back as the same number")
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
