#pragma once
// CRC-32C by the processor's own instruction, which Swift cannot name. The raw register is passed
// in and out: whoever calls inverts it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Bytes of each of the three streams that one round runs side by side: the instruction takes three
// cycles but a new one can start in each.
#define CRC32C_STREAM 4096

#if defined(__x86_64__)
/// Whether the processor has SSE 4.2.
static inline int crc32c_is_in_hardware(void) { return __builtin_cpu_supports("sse4.2") != 0; }
#define CRC32C_TARGET __attribute__((target("sse4.2")))
#define CRC32C_8(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define CRC32C_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#elif defined(__aarch64__)
#include <sys/auxv.h>
/// Whether the processor has the CRC extension.
static inline int crc32c_is_in_hardware(void) { return (getauxval(AT_HWCAP) >> 7) & 1; }
#define CRC32C_TARGET __attribute__((target("crc")))
#define CRC32C_8(crc, word) __builtin_arm_crc32cd((crc), (word))
#define CRC32C_1(crc, byte) __builtin_arm_crc32cb((crc), (byte))
#else
static inline int crc32c_is_in_hardware(void) { return 0; }
#endif

/// The product of two polynomials modulo CRC-32C's, with the lowest power in the highest bit.
static inline uint32_t crc32c_multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = b & 1 ? (b >> 1) ^ 0x82F63B78u : b >> 1;
  }
  return product;
}

#ifdef CRC32C_TARGET
/// The register after more bytes; only where `crc32c_is_in_hardware()`. `stride` is x to the power
/// of the bits in a stream: what moves a register over as many zeros.
CRC32C_TARGET static inline uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count,
                                                     uint32_t stride) {
  const uint8_t *at = (const uint8_t *)bytes;
  while (count >= 3 * CRC32C_STREAM) {
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < CRC32C_STREAM; i += 8) {
      uint64_t a, b, c;
      memcpy(&a, at + i, 8);
      memcpy(&b, at + CRC32C_STREAM + i, 8);
      memcpy(&c, at + 2 * CRC32C_STREAM + i, 8);
      crc = CRC32C_8(crc, a);
      second = CRC32C_8(second, b);
      third = CRC32C_8(third, c);
    }
    crc = crc32c_multiply(stride, crc) ^ second;
    crc = crc32c_multiply(stride, crc) ^ third;
    at += 3 * CRC32C_STREAM;
    count -= 3 * CRC32C_STREAM;
  }
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    crc = CRC32C_8(crc, word);
  }
  for (; count > 0; at++, count--) crc = CRC32C_1(crc, *at);
  return crc;
}
#else
static inline uint32_t crc32c_hardware(uint32_t crc, const void *bytes, size_t count,
                                       uint32_t stride) {
  return crc;
}
#endif
