import Testing

@testable import Poller

@Suite("JitterSource")
struct JitterSourceTests {
    /// The first numbers of SplitMix64 for the seed 1234567.
    ///
    /// *Source*: <https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64>.
    @Test("the numbers are those of SplitMix64")
    func published() {
        var generator = JitterSource(seed: 1_234_567).generator
        let numbers = (0..<5).map { _ in generator.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ]
        )
    }

    @Test("generators of one source never repeat each other's numbers")
    func shared() async {
        let source = JitterSource(seed: 1)
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var generator = source.generator
                    return (0..<1000).map { _ in generator.next() }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(numbers).count == 4000)
    }

    @Test("waits are spread over the whole range of the jitter")
    func spread() {
        var generator = JitterSource(seed: 7).generator
        let draws = (0..<10_000).map { _ in Double.random(in: 0.9...1.1, using: &generator) }
        let mean = draws.reduce(0, +) / 10_000
        #expect(draws.allSatisfy { (0.9...1.1).contains($0) })
        #expect((0.998...1.002).contains(mean))
        #expect((draws.min() ?? 1) < 0.901 && (draws.max() ?? 1) > 1.099)
    }

    @Test("sources with different seeds have different numbers")
    func seeds() {
        var (one, other) = (JitterSource(seed: 1).generator, JitterSource(seed: 2).generator)
        #expect(one.next() != other.next())
    }
}
