import JSONText
import PollerTesting
import Testing

@testable import PollerWire

/// Compares the writer of shapes, which reads properties at their offsets, with one that names each property.
@Suite("Shapes on the wire")
struct WireShapeTests {
    /// A part whose members are written as those of its object.
    private struct Part: WireObject, Hashable {
        var small: Bool = false
        var text = ""

        static let shape = Shape<Part> {
            Field("small", \.small)
            Field("text", \.text)
        }
    }

    /// An object with each kind of field, and properties of several sizes and alignments.
    private struct Sample: WireObject, Hashable {
        struct Inner: WireObject, Hashable {
            var flag: Bool?
            var number = 0

            static let shape = Shape<Inner> {
                Field("flag", \.flag)
                Field(nullable: "again", \.flag)
                Field("number", \.number)
            }
        }

        var flag = false
        var text = ""
        var optional: String?
        var nullable: Int?
        var inner = Inner()
        var list: [Inner] = []
        var change = Change<String>.keep
        var part = Part()
        var raw: RawJSON?
        var time: Time?
        /// A property without an offset.
        var computed: Int {
            get { text.utf8.count }
            set { text = String(repeating: "x", count: newValue) }
        }
        /// Parts without offsets.
        var computedPart: Part {
            get { part }
            set { part = newValue }
        }

        static let shape = Shape<Sample> {
            Field("flag", \.flag)
            Field("text", \.text)
            Field("optional", \.optional)
            Field(nullable: "nullable", \.nullable)
            Field("inner", \.inner)
            Field("list", \.list)
            Field("change", \.change)
            Field<Sample>.of(\.part)
            Field("inner_number", \.inner.number)
            Field(nullable: "raw", \.raw)
            Field("time", \.time)
            Field("computed", \.computed)
            Field<Sample>.of(\.computedPart)
        }
    }

    private func write(_ inner: Sample.Inner, to json: inout JSONWriter) {
        json.object { json in
            if let flag = inner.flag { json.field("flag", flag) }
            json.name("again")
            if let flag = inner.flag { json.value(flag) } else { json.null() }
            json.field("number", inner.number)
        }
    }

    private func write(_ part: Part, to json: inout JSONWriter) {
        json.field("small", part.small)
        json.field("text", part.text)
    }

    private func named(_ sample: Sample) -> String {
        JSONWriter.text { json in
            json.object { json in
                json.field("flag", sample.flag)
                json.field("text", sample.text)
                if let text = sample.optional { json.field("optional", text) }
                json.field("nullable", sample.nullable)
                json.name("inner")
                write(sample.inner, to: &json)
                json.array("list") { json in
                    for inner in sample.list { write(inner, to: &json) }
                }
                switch sample.change {
                case .keep: break
                case .standard:
                    json.name("change")
                    json.null()
                case .set(let text): json.field("change", text)
                }
                write(sample.part, to: &json)
                json.field("inner_number", sample.inner.number)
                json.field("raw", raw: sample.raw?.utf8 ?? Array("null".utf8)[...])
                if let time = sample.time { json.field("time", time.description) }
                json.field("computed", sample.text.utf8.count)
                write(sample.part, to: &json)
            }
        }
    }

    @Test("objects are written as their properties are, in the order of the table")
    func sameAsNamed() {
        var generator = SeededGenerator(seed: 1)
        func flag() -> Bool { Bool.random(using: &generator) }
        func number() -> Int { Int.random(in: -1_000_000...1_000_000, using: &generator) }
        let texts = ["", "plain", "quote\"", "a longer text \u{1F600} that is not inline", "\u{1}"]
        func text() -> String { texts.randomElement(using: &generator) ?? "" }
        func inner() -> Sample.Inner { Sample.Inner(flag: flag() ? flag() : nil, number: number()) }
        for _ in 0..<500 {
            var sample = Sample()
            sample.flag = flag()
            sample.text = text()
            sample.optional = flag() ? text() : nil
            sample.nullable = flag() ? number() : nil
            sample.inner = inner()
            sample.list = (0..<Int.random(in: 0..<3, using: &generator)).map { _ in inner() }
            sample.change = flag() ? .keep : flag() ? .standard : .set(text())
            sample.part = Part(small: flag(), text: text())
            sample.raw = flag() ? RawJSON(unchecked: #"[1, {"a":null}]"#) : nil
            sample.time = flag() ? Time(ms: Int64(number()) * 1000) : nil
            #expect(sample.json == named(sample))
            #expect(RawJSON(sample.json) != nil)
        }
    }

    @Test("a time is written with leading zeros, and read back as the same instant")
    func times() {
        #expect(Time(ms: 0).description == "1970-01-01T00:00:00.000Z")
        #expect(Time(ms: -1).description == "1969-12-31T23:59:59.999Z")
        #expect(Time(ms: .min).description == "0001-01-01T00:00:00.000Z")
        #expect(Time(ms: .max).description == "9999-12-31T23:59:59.999Z")
        #expect(Time(ms: 1_709_164_861_007).description == "2024-02-29T00:01:01.007Z")
        var generator = SeededGenerator(seed: 2)
        let range = Time(ms: .min).ms...Time(ms: .max).ms
        for _ in 0..<5000 {
            let time = Time(ms: Int64.random(in: range, using: &generator))
            #expect(Time(time.description) == time)
        }
    }
}
