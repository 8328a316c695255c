/** How to get an answer when nothing that was passed has one. */
export const MEASURE = 'measure it from start to end: whyslow run -- python train.py';
