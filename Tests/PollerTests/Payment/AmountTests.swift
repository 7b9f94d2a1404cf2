import PollerPayments
import SafeNumbers
import Testing

@Suite("Amount")
struct AmountTests {
    private static let beyond = [Int.min, Int.max, SafeInteger.min - 1, SafeInteger.max + 1]

    @Test("a number beyond 2^53 - 1 is not an amount", arguments: beyond)
    func refused(number: Int) {
        #expect(Amount(number) == nil)
        #expect(Amount(nonNegative: number) == nil)
        #expect(Amount(positive: number) == nil)
        #expect(Amount(decimal: "\(number)") == nil)
        #expect([SafeInteger.min, SafeInteger.max].contains(Amount(clamping: number).minorUnits))
    }

    @Test("the limits are amounts")
    func limits() {
        #expect(Amount(SafeInteger.max) == .max)
        #expect(Amount(SafeInteger.min)?.minorUnits == SafeInteger.min)
        #expect(Amount(decimal: "-9007199254740991")?.minorUnits == SafeInteger.min)
        #expect(Amount(nonNegative: -1) == nil && Amount(nonNegative: 0) == .zero)
        #expect(Amount(positive: 0) == nil && Amount(positive: 1) == 1)
    }

    @Test(
        "text other than decimal digits is not an amount",
        arguments: ["", "1e3", "NaN", "1.0", " 1", "0x1"]
    )
    func text(_ text: String) {
        #expect(Amount(decimal: text) == nil)
    }

    @Test("sums and differences saturate at the limits")
    func saturates() {
        let least = Amount(clamping: Int.min)
        #expect(Amount.max + .max == .max && least + least == least)
        #expect(Amount.max - least == .max && least - .max == least)
        var sum = Amount.max
        sum += 1
        #expect(sum == .max)
    }
}

@Suite("Safe conversion of whole numbers")
struct SafeNumbersTests {
    @Test(
        "a floating-point number is converted to the nearest whole number",
        arguments: [
            (1e308, Int.max), (-1e308, .min), (.infinity, .max), (-.infinity, .min), (.nan, 0),
            (1.9, 1), (-1.9, -1), (9.3e18, .max),
        ]
    )
    func floats(number: Double, whole: Int) {
        #expect(Int(saturating: number) == whole)
    }

    @Test("arithmetic saturates at the limits of the type")
    func saturates() {
        #expect(Int.max.addingSaturating(1) == .max && Int.min.addingSaturating(-1) == .min)
        #expect(Int.min.subtractingSaturating(1) == .min)
        #expect(Int.max.subtractingSaturating(-1) == .max)
        #expect(Int.min.multipliedSaturating(by: -1) == .max)
        #expect(Int.max.multipliedSaturating(by: -2) == .min)
    }

    @Test("a count is at least 0 and at most the largest safe integer")
    func counts() {
        #expect(SafeInteger.count(Int.min) == 0 && SafeInteger.count(-1) == 0)
        #expect(SafeInteger.count(Int.max) == SafeInteger.max)
        #expect(SafeInteger.count(7) == 7)
    }
}
