import RedisClient
import Testing

@Suite struct RedisScriptTests {
    @Test("a script's digest is the SHA-1 of its text in lower-case hex")
    func digest() {
        // The example of the documentation of SCRIPT LOAD.
        #expect(
            RedisScript(source: "return 'Immabe a cached script'").sha1
                == "c664a3bf70bd1d45c4284ffebb65a6f2299bfc9f"
        )
        #expect(RedisScript(source: "").sha1 == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }
}
