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

@Suite("JSONWriter strings")
struct JSONWriterStringTests {
    @Test("each character is written as one literal, alone and among others, and is read back")
    func escapes() {
        for scalar in (0..<0x180).compactMap(Unicode.Scalar.init) {
            for text in [
                "\(scalar)", "some plain characters \(scalar) and more", "\(scalar)\(scalar)",
            ] {
                let literal = JSONWriter.literal(text)
                #expect(RawJSON(literal)?.string == text)
                let isPlain = scalar.value >= 0x20 && scalar != "\"" && scalar != "\\"
                #expect(isPlain == (literal == "\"\(text)\""))
            }
        }
        #expect(JSONWriter.literal("a\n\r\t\u{1}\u{1f}\"\\b") == #""a\n\r\t\u0001\u001f\"\\b""#)
    }

    @Test("a prepared name is written as its text is")
    func names() {
        let name = JSONName("status")
        let prepared = JSONWriter.text { json in
            json.object { json in
                json.name(name)
                json.value(1)
                json.name(name)
                json.null()
            }
        }
        #expect(prepared == #"{"status":1,"status":null}"#)
    }
}
